import { makings } from '#process-state'
import { keyLayout, recordBeside } from '../redis/keys.ts'
import { type PlainCommand, plainCommandOf } from '../redis/plain-commands.ts'
import type { RedisTransport, ScriptCall, ScriptReply } from '../redis/redis-transport.ts'
import { decoder } from '../redis/replies.ts'
import { runScript } from '../redis/run-script.ts'
import type { Finding } from '../store/finding.ts'
import type { LeaseStore, Refused, Unknown } from '../store/lease-store.ts'
import type { Budget } from './budget.ts'
import { type CheckCode, finding } from './catalogue.ts'
import type { ClockReading } from './clock-step.ts'
import { permissions } from './generated/permissions.ts'
import { survey } from './generated/survey.ts'
import { isForbidden } from './refusal.ts'
import { parseServerReport, type ServerReport } from './server-report.ts'

/** The parts of a Redis store that a check needs. */
export interface RedisBehind {
  readonly transport: RedisTransport
  readonly plain: PlainCommand | undefined
  readonly prefix: string
}

/** Undefined for a store that is not over Redis. */
export function redisBehind(store: LeaseStore): RedisBehind | undefined {
  const [transport] = makings.get(store) ?? []
  return transport && { transport, plain: plainCommandOf(transport), prefix: keyLayout(store.prefix).prefix }
}

/** One node's answer. `info` is empty if the user may not ask for it. */
interface Surveyed {
  readonly type: 'survey'
  readonly storeMs: number
  readonly info: string
}

const surveyed = decoder<Surveyed>({
  survey: ([seconds, micros, info]) => {
    const storeMs = Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000)
    return storeMs > 0 && { type: 'survey', storeMs, info: String(info) }
  },
})

/** A node's report on itself, and the reading of its clock. */
export interface NodeSurvey {
  readonly type: 'surveyed'
  readonly report: ServerReport | undefined
  readonly reading: ClockReading
}

/**
 * Asks the node that has a key. The script is sent as text and not by its hash, as it is to a server that has forgotten
 * its scripts, because that takes a permission of its own.
 */
export async function surveyNode(
  { transport, prefix }: RedisBehind,
  key: string,
  budget: Budget,
): Promise<NodeSurvey | Unknown | Refused> {
  const script: ScriptCall = { command: 'EVAL', body: survey.text, keys: [prefix + key], args: [] }
  const fromMs = budget.clock.monotonicMs()
  const replies = await budget.ask(transport.commandDeadlineMs, (call) => transport.run([script], call))
  const tookMs = budget.clock.monotonicMs() - fromMs
  const [reply = { type: 'unknown', executed: 'unknown' } as const] = replies ?? []
  const answer = surveyed(reply.type === 'value' ? { ...reply, value: (reply.value as unknown[])?.[0] } : reply)
  if (answer.type !== 'survey') return answer
  return {
    type: 'surveyed',
    report: answer.info ? parseServerReport(answer.info) : undefined,
    reading: { storeMs: answer.storeMs, localMs: fromMs + tookMs / 2, withinMs: tookMs },
  }
}

interface Tried {
  readonly type: 'tried'
  readonly failed: ReadonlyMap<string, string>
}

const tried = decoder<Tried>({
  tried: (words) => {
    const failed = new Map<string, string>()
    for (let at = 0; at < words.length; at += 2) failed.set(String(words[at]), String(words[at + 1]))
    return { type: 'tried', failed }
  },
})

function codeOf(name: string, words: string): CheckCode {
  if (name === 'publish') return /channel/.test(words) ? 'CHANNELS_FORBIDDEN' : 'PUBLISH_FORBIDDEN'
  // The commands of hashes and sorted sets, and the one that counts subscribers.
  return /^(h|z|pubsub)/.test(name) ? 'QUEUES_FORBIDDEN' : 'COMMANDS_FORBIDDEN'
}

/** Finds the commands that the scripts may not use. Redis 7.0 does not name them when it refuses a script. */
export async function commandFindings(
  { transport, prefix }: RedisBehind,
  key: string,
  budget: Budget,
): Promise<readonly Finding[]> {
  const record = (name: string): string => recordBeside(prefix + key, name)
  const channel = keyLayout(prefix).releaseChannel(key)
  const request = [record('check'), record('check-hash'), record('check-order'), channel] as const
  const answers: readonly (Tried | Unknown | Refused)[] =
    (await budget.ask(transport.commandDeadlineMs, (call) =>
      runScript(transport, permissions, [], 3, [request], (it) => it, tried, call),
    )) ?? []
  const [answer] = answers
  if (answer?.type !== 'tried') return []
  const forbidden = [...answer.failed].filter(([, words]) => isForbidden(words) && !/\bkeys?\b/.test(words))
  const byCode = new Map<CheckCode, string[]>()
  for (const [name, words] of forbidden) {
    const code = codeOf(name, words)
    byCode.set(code, [...(byCode.get(code) ?? []), name])
  }
  return Array.from(byCode, ([code, names]) =>
    finding(
      code,
      `The user may not, within scripts: ${names.join(' ')} (${answer.failed.get(names[0] ?? '')})`,
      prefix,
    ),
  )
}

/** The reply to a plain command, if the transport offers those. */
export const plainReply = async (
  { plain, transport }: RedisBehind,
  words: readonly [string, ...string[]],
  budget: Budget,
): Promise<ScriptReply | undefined> => plain && budget.ask(transport.commandDeadlineMs, (call) => plain(words, call))

/** The answer to a plain command, if the transport offers those and the answer comes. */
export async function plainAnswer(
  behind: RedisBehind,
  words: readonly [string, ...string[]],
  budget: Budget,
): Promise<unknown> {
  const reply = await plainReply(behind, words, budget)
  return reply?.type === 'value' ? reply.value : undefined
}
