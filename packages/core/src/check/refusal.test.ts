import { expect, it } from 'vitest'
import { refusal } from './refusal.ts'

/* The same refusals in the words of several versions. Real servers in `test/check` say those of Redis 7.0. */
it.each([
  // 6.2
  ["NOPERM this user has no permissions to run the 'evalsha' command or its subcommand", 'SCRIPTS_FORBIDDEN'],
  ['NOPERM this user has no permissions to access one of the keys used as arguments', 'KEYS_FORBIDDEN'],
  // 7.0, within a script
  [
    "ERR The user executing the script can't run this command or subcommand script: f, on @user_script:1.",
    'COMMANDS_FORBIDDEN',
  ],
  [
    "ERR The user executing the script can't access at least one of the keys mentioned in the command",
    'KEYS_FORBIDDEN',
  ],
  // 7.2 and later, and Valkey
  ["NOPERM User shop has no permissions to run the 'eval' command", 'SCRIPTS_FORBIDDEN'],
  ["NOPERM ACL failure in script: User shop has no permissions to run the 'set' command", 'COMMANDS_FORBIDDEN'],
  ['ERR ACL failure in script: No permissions to access a key', 'KEYS_FORBIDDEN'],
  ['WRONGPASS invalid username-password pair or user is disabled.', 'LOGIN_REFUSED'],
  ['NOAUTH Authentication required.', 'LOGIN_REFUSED'],
  ["READONLY You can't write against a read only replica.", 'IS_REPLICA'],
  ["MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.", 'IS_REPLICA'],
  ["OOM command not allowed when used memory > 'maxmemory'.", 'MEMORY_FULL'],
  [
    'MISCONF Redis is configured to save RDB snapshots, but it is currently unable to persist on disk.',
    'WRITES_STOPPED',
  ],
  ['NOREPLICAS Not enough good replicas to write.', 'TOO_FEW_REPLICAS'],
  ['LOADING Redis is loading the dataset in memory', 'NOT_READY'],
  ['BUSY Redis is busy running a script.', 'NOT_READY'],
  ['CLUSTERDOWN Hash slot not served', 'CLUSTER_DOWN'],
  ['TRYAGAIN The nodes sent the request on (ReplyError: MOVED 3999 127.0.0.1:6381)', 'NOT_READY'],
  ['MOVED 3999 127.0.0.1:6381', 'CLUSTER_NEEDS_CLIENT'],
  ["ERR unknown command 'EVALSHA'", 'NO_SCRIPTS'],
  ['ERR unknown command `evalsha`', 'NO_SCRIPTS'],
])('%s', (words, code) => {
  expect(refusal(words, 'lock:')).toMatchObject({ code, message: expect.stringContaining(words) })
})

it('other words are about nothing that is known', () => {
  expect(refusal('ERR something else', 'lock:')).toBeUndefined()
})
