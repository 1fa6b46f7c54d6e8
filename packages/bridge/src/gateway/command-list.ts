import { InvalidOptionError } from '@leasehold/core'
import { textOf } from '../http/text.ts'
import type { GatewayCommand } from './gateway-redis.ts'

const words = (text: string): readonly string[] => text.trim().split(/\s+/)

/**
 * The commands that locks and ordinary data need: commands on named keys, and scripts.
 *
 * It leaves out what stalls everyone (`KEYS`, `SORT`), what is for the operator (`CONFIG`, `DEBUG`, `SHUTDOWN`, `ACL`,
 * `FLUSHALL`, `SCRIPT FLUSH`), and what reveals other clients (`MONITOR`, `CLIENT`, `INFO`, `PUBSUB`). The list
 * prevents accidents, not attacks: a script may call nearly anything. Against attackers, restrict the gateway's Redis
 * user.
 */
export const defaultCommands: readonly string[] = [
  // Locks: for the scripts of @leasehold/core, and for other lock libraries.
  ...words('EVAL EVALSHA EVAL_RO EVALSHA_RO'),
  ...['SCRIPT LOAD', 'SCRIPT EXISTS'],
  // Release notifications; the subscriptions are the event streams.
  ...words('PUBLISH SUBSCRIBE PSUBSCRIBE'),
  ...words('PING ECHO TIME DBSIZE'),
  // Keys. SCAN, unlike KEYS, answers in small steps.
  ...words('DEL UNLINK EXISTS TYPE TOUCH COPY RENAME RENAMENX SCAN'),
  ...words('TTL PTTL EXPIRE PEXPIRE EXPIREAT PEXPIREAT EXPIRETIME PEXPIRETIME PERSIST'),
  // Strings, counters, bits, HyperLogLog.
  ...words('GET SET SETNX SETEX PSETEX GETSET GETDEL GETEX MGET MSET MSETNX APPEND STRLEN GETRANGE SETRANGE SUBSTR'),
  ...words('INCR INCRBY INCRBYFLOAT DECR DECRBY'),
  ...words('SETBIT GETBIT BITCOUNT BITPOS BITOP BITFIELD BITFIELD_RO PFADD PFCOUNT PFMERGE'),
  ...words(
    'HSET HSETNX HMSET HGET HMGET HGETALL HDEL HEXISTS HKEYS HVALS HLEN HSTRLEN HINCRBY HINCRBYFLOAT HRANDFIELD',
  ),
  ...words('HSCAN SSCAN ZSCAN'),
  ...words('LPUSH LPUSHX RPUSH RPUSHX LPOP RPOP LRANGE LINDEX LSET LINSERT LREM LTRIM LLEN LPOS LMOVE RPOPLPUSH LMPOP'),
  ...words('SADD SREM SMEMBERS SISMEMBER SMISMEMBER SCARD SPOP SRANDMEMBER SMOVE'),
  ...words('SDIFF SDIFFSTORE SINTER SINTERSTORE SINTERCARD SUNION SUNIONSTORE'),
  ...words('ZADD ZINCRBY ZREM ZCARD ZCOUNT ZLEXCOUNT ZSCORE ZMSCORE ZRANK ZREVRANK ZRANDMEMBER ZPOPMIN ZPOPMAX ZMPOP'),
  ...words('ZRANGE ZRANGESTORE ZRANGEBYSCORE ZRANGEBYLEX ZREVRANGE ZREVRANGEBYSCORE ZREVRANGEBYLEX'),
  ...words('ZREMRANGEBYRANK ZREMRANGEBYSCORE ZREMRANGEBYLEX'),
  ...words('ZDIFF ZDIFFSTORE ZINTER ZINTERSTORE ZINTERCARD ZUNION ZUNIONSTORE'),
  ...words('GEOADD GEODIST GEOHASH GEOPOS GEOSEARCH GEOSEARCHSTORE'),
  ...words('XADD XDEL XTRIM XLEN XRANGE XREVRANGE XREAD XREADGROUP XACK XPENDING XCLAIM XAUTOCLAIM'),
  ...['XGROUP CREATE', 'XGROUP CREATECONSUMER', 'XGROUP DELCONSUMER', 'XGROUP DESTROY', 'XGROUP SETID'],
  ...['XINFO STREAM', 'XINFO GROUPS', 'XINFO CONSUMERS'],
]

/** Commands that no option can allow: all requests share a connection, and these would change or block it for the others. */
const impossible: ReadonlySet<string> = new Set([
  ...words('AUTH HELLO SELECT QUIT RESET CLIENT READONLY READWRITE ASKING'),
  ...words('MULTI EXEC DISCARD WATCH UNWATCH'),
  ...words('UNSUBSCRIBE PUNSUBSCRIBE SSUBSCRIBE SUNSUBSCRIBE MONITOR SYNC PSYNC REPLCONF'),
  ...words('BLPOP BRPOP BRPOPLPUSH BLMOVE BLMPOP BZPOPMIN BZPOPMAX BZMPOP WAIT WAITAOF'),
  'SCRIPT DEBUG',
])

export interface CommandList {
  /** Why a command is refused; undefined if it is let through. */
  refusal(command: GatewayCommand): string | undefined
  /** The same for the event streams of `SUBSCRIBE` or `PSUBSCRIBE`. */
  streamRefusal(name: 'SUBSCRIBE' | 'PSUBSCRIBE'): string | undefined
}

/** @throws InvalidOptionError naming `option`, for an entry that cannot be a command, or cannot be allowed. */
export function commandList(commands: readonly string[], option: string = 'commands'): CommandList {
  const allowed = new Set(commands.map((entry) => checkedEntry(entry, option)))
  return {
    refusal(command) {
      const [name = '', subcommand = ''] = command.slice(0, 2).map(upperCase)
      const both = `${name} ${subcommand}`
      if (impossible.has(name) || impossible.has(both))
        return `${quoted(name)} cannot be used over HTTP${instead(name)}`
      if (!allowed.has(name) && !allowed.has(both)) return notAllowed(name)
      if (name === 'SUBSCRIBE' || name === 'PSUBSCRIBE') return `'${name}' is the path /${name.toLowerCase()}/<name>`
      if ((name === 'XREAD' || name === 'XREADGROUP') && blocks(command)) return `'${name}' cannot BLOCK over HTTP`
      return undefined
    },
    streamRefusal: (name) => (allowed.has(name) ? undefined : notAllowed(name)),
  }
}

const notAllowed = (name: string): string => `${quoted(name)} is not allowed by this gateway`

function checkedEntry(entry: string, option: string): string {
  const name = typeof entry === 'string' ? entry.trim().toUpperCase().replace(/\s+/, ' ') : ''
  if (!/^[A-Z][\w.-]*( [\w.-]+)?$/.test(name)) {
    throw new InvalidOptionError(option, "must be names of commands, such as 'GET' or 'SCRIPT LOAD'")
  }
  if (impossible.has(name) || impossible.has(name.split(' ')[0] as string)) {
    throw new InvalidOptionError(option, `cannot have ${name}: it would act on a connection that all requests share`)
  }
  return name
}

const instead = (name: string): string => (/^(MULTI|EXEC|DISCARD)$/.test(name) ? '; use the path /multi-exec' : '')

const upperCase = (arg: string | Uint8Array): string => textOf(arg).toUpperCase()

/** Whether `BLOCK` comes before the keys. It looks for the last `STREAMS`, because a group may have that name too. */
function blocks(command: GatewayCommand): boolean {
  const upper = command.map(upperCase)
  return upper.slice(0, upper.lastIndexOf('STREAMS')).includes('BLOCK')
}

/** Quotes only what looks like a name: anything else may be a secret in the wrong place. */
const quoted = (name: string): string => (/^[A-Z][\w.-]{0,31}$/.test(name) ? `'${name}'` : 'the command')
