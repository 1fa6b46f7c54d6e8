/** What to try when a command fails with this message; undefined if nothing is known. */
export function hintFor(message: string, command: string): string | undefined {
  const hint = hints.find(([said]) => said.test(message))?.[1]
  return hint ?? (mayNot.test(message) ? lacking(command) : undefined)
}

const hints: readonly (readonly [said: RegExp, hint: string])[] = [
  [/\bMOVED \d/, 'This is a node of a cluster: add --cluster'],
  [/cluster support disabled/, 'This is no node of a cluster: leave out --cluster'],
  [/unknown command .?(evalsha|eval)\b/i, 'This may be a Sentinel: add --sentinel <name>, the name of the group'],
  [/unknown command .?sentinel\b/i, 'This is no Sentinel: leave out --sentinel'],
  [/DB index is out of range/, 'The URL ends with the number of the database: most servers have 0 to 15'],
  [/rediss:.*(ETIMEDOUT|ECONNRESET|closed|SSL|TLS)/i, 'If this port has no TLS, write redis:// in place of rediss://'],
  [/redis:.*(ECONNRESET|closed)/i, 'If this port has TLS, write rediss:// in place of redis://'],
]

/** The permissions that a command needs. Only some versions of the server name those that a user lacks. */
const permissions: Readonly<Record<string, string>> = {
  revoke: '+set +del +publish and &<prefix>release:* beside those for show',
  watch: '+scan beside those for show',
}
const mayNot = /NOPERM|ACL failure|can't (run|access|publish)/

function lacking(name: string): string {
  const needed = permissions[name]
  return `${needed ? `${name} needs ${needed}. ` : ''}A line for each command is in docs/operating.md, "Who may do what"`
}
