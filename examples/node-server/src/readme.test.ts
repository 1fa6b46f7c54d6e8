import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ServerProcess, startServerProcess } from './server-process.ts'

/** Each `curl` of the README, and the answer it shows in the comment below. */
const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')
const commands = Array.from(
  readme.matchAll(/^curl(?: --json '(?<json>.*)')? '?localhost:3000(?<path>[^\s']+)'?\n# (?<answer>.*)$/gm),
  ({ groups }) => groups as { json?: string; path: string; answer: string },
)

let server: ServerProcess
beforeAll(async () => {
  server = await startServerProcess({ REDIS_URL: '' })
})
afterAll(() => server.stop())

/** What is another one each time. */
const settled = (answer: string): string =>
  answer.replace(/"server-\d+"/, '"server"').replace(/"fence":\d+/, '"fence":1')

test('the README shows what every route answers', () => {
  expect(commands.length).toBe(readme.match(/^curl/gm)?.length)
  expect(commands.length).toBeGreaterThan(4)
})

test.each(commands.map((command) => [command.path, command] as const))(
  '%s answers as the README shows',
  async (_, command) => {
    const { path, json, answer } = command
    const request =
      json === undefined ? {} : { method: 'POST', headers: { 'content-type': 'application/json' }, body: json }
    const response = await fetch(server.url + path, request)
    expect(settled((await response.text()).trim())).toBe(settled(answer))
  },
)
