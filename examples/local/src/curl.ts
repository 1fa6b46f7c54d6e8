import { readFileSync } from 'node:fs'

/** A `curl` command of a README, and the answer that the comment below it shows. */
export interface Curl {
  readonly port: string
  readonly path: string
  readonly init: RequestInit
  /** With `curl -i`, the answer begins with its status. */
  readonly showsStatus: boolean
  readonly answer: string
}

const command = /^curl (?<args>.*)\n# (?<answer>.*)$/gm
const address = /'?localhost:(?<port>\d+)(?<path>\/[^\s']*)'?/

/** @throws Error for a command that it cannot parse, or that shows no answer */
export function curlsOf(readme: URL): readonly Curl[] {
  const text = readFileSync(readme, 'utf8')
  const curls = Array.from(text.matchAll(command), ({ groups }) => curlFrom(groups as Groups<'args' | 'answer'>))
  if (curls.length === 0 || curls.length !== text.match(/^curl/gm)?.length) {
    throw new Error(`Each curl command of ${readme.pathname} must show its answer on the next line, after "# "`)
  }
  return curls
}

type Groups<Name extends string> = Readonly<Record<Name, string>>

function curlFrom({ args, answer }: Groups<'args' | 'answer'>): Curl {
  const found = address.exec(args)?.groups as Groups<'port' | 'path'> | undefined
  if (!found) throw new Error(`A curl command has no address at localhost: ${args}`)
  const json = /--json '(.*?)'/.exec(args)?.[1]
  const body = json ?? /-d '(.*?)'/.exec(args)?.[1]
  const headers = new Headers(json === undefined ? {} : { 'content-type': 'application/json' })
  for (const [, name, value] of args.matchAll(/-H '(.*?): (.*?)'/g)) headers.set(name as string, value as string)
  const init: RequestInit = body === undefined ? { headers } : { method: 'POST', headers, body }
  return { ...found, init, showsStatus: /(?:^| )-i /.test(args), answer }
}

/** Sends the commands in order to the servers that stand for the README's ports, and resolves to their answers. */
export async function run(curls: readonly Curl[], urls: Readonly<Record<string, string>>): Promise<readonly string[]> {
  const answers: string[] = []
  for (const { port, path, init, showsStatus } of curls) {
    const response = await fetch(urls[port] + path, init)
    const body = (await response.text()).trim()
    answers.push(showsStatus ? `${response.status} ${body}` : body)
  }
  return answers
}
