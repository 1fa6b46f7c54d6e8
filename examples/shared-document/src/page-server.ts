import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { stripTypeScriptTypes } from 'node:module'

const file = (name: string): string => readFileSync(new URL(`page/${name}`, import.meta.url), 'utf8')

/** The served files, by path. The page's program is TypeScript, whose types Node strips. */
const files: Readonly<Record<string, readonly [type: string, content: string]>> = {
  '/': ['text/html; charset=utf-8', file('index.html')],
  '/style.css': ['text/css; charset=utf-8', file('style.css')],
  '/page.ts': ['text/javascript; charset=utf-8', stripTypeScriptTypes(file('page.ts'))],
  '/draft.ts': ['text/javascript; charset=utf-8', stripTypeScriptTypes(file('draft.ts'))],
  '/trust.ts': ['text/javascript; charset=utf-8', stripTypeScriptTypes(file('trust.ts'))],
}

const headers = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:",
  'x-content-type-options': 'nosniff',
}

export function pageServer(): Server {
  return createServer((request, response) => {
    const [type, content] = files[new URL(request.url ?? '/', 'http://localhost').pathname] ?? []
    if (content === undefined) response.writeHead(404).end()
    else response.writeHead(200, { ...headers, 'content-type': type }).end(content)
  })
}
