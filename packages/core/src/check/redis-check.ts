import type { Finding } from '../store/finding.ts'
import type { LeaseStore } from '../store/lease-store.ts'
import type { Budget } from './budget.ts'
import { finding } from './catalogue.ts'
import type { ClockReading } from './clock-step.ts'
import { otherPrefix } from './other-prefix.ts'
import { reasonIn, refusal } from './refusal.ts'
import { parseServerReport, type ServerReport } from './server-report.ts'
import { serverFindings } from './server-rules.ts'
import { commandFindings, plainAnswer, type RedisBehind, surveyNode } from './survey.ts'

/** A node, and its report on itself. */
export interface NodeFacts {
  /** `host:port` on a cluster, as its client knows it; empty if there is only one server. */
  readonly name: string
  /** Null if the node says nothing about itself. */
  readonly report: ServerReport | null
}

export interface RedisCheck {
  readonly findings: readonly Finding[]
  readonly nodes: readonly NodeFacts[]
  /** The readings of the nodes' clocks, by node name. */
  readonly readings: ReadonlyMap<string, ClockReading>
}

/** How many names are tried in search of one on each node, and of a slot that a plain client cannot reach. */
const namesTried = 256
const slotsTried = 16

/** Examines the servers behind a Redis store: each node of a cluster, or the single server. */
export async function checkRedis(
  behind: RedisBehind,
  store: LeaseStore,
  key: string,
  budget: Budget,
): Promise<RedisCheck> {
  const forbidden = await commandFindings(behind, key, budget)
  const save = snapshotSetting(await plainAnswer(behind, ['CONFIG', 'GET', 'save'], budget))
  const keys = [...keysByNode(store, key)]
  const nodes = await Promise.all(
    keys.map(async ([name, keyThere]) => ({ name, ...(await checkNode(behind, keyThere, keys.length, save, budget)) })),
  )
  const isPlainOnCluster = !behind.transport.cluster && nodes.some(({ report }) => report?.cluster)
  const elsewhere = await otherPrefix(
    behind,
    keys.map(([, keyThere]) => keyThere),
    budget,
  )
  return {
    findings: [
      ...forbidden,
      ...named(nodes),
      ...(isPlainOnCluster ? [await plainOnCluster(store, key, budget)] : []),
      ...elsewhere,
    ],
    nodes: nodes.map(({ name, report }) => ({ name, report })),
    readings: new Map(nodes.flatMap(({ name, reading }) => (reading ? [[name, reading]] : []))),
  }
}

interface NodeCheck {
  readonly report: ServerReport | null
  readonly reading?: ClockReading
  readonly findings: readonly Finding[]
}

/** @param count the number of nodes */
async function checkNode(
  behind: RedisBehind,
  key: string,
  count: number,
  save: string | undefined,
  budget: Budget,
): Promise<NodeCheck> {
  const survey = await surveyNode(behind, key, budget)
  if (survey.type === 'surveyed') {
    const { report, reading } = survey
    return { report: report ?? null, reading, findings: report ? serverFindings(report, { save }) : [unseen()] }
  }
  const words = reasonIn(survey)
  const why =
    refusal(words, behind.prefix) ?? finding('UNREACHABLE', `The server answers no script${words && `: ${words}`}`)
  // A server without scripts may still answer a plain command, also to a user who may not run scripts. On a cluster,
  // any node might be the one that answers.
  const report = count === 1 ? await plainReport(behind, budget) : undefined
  return { report: report ?? null, findings: [why, ...(report ? serverFindings(report, { save }) : [])] }
}

/** Keeps a finding of several nodes once, with their names. */
function named(nodes: readonly { readonly name: string; readonly findings: readonly Finding[] }[]): readonly Finding[] {
  const names = new Map<string, string[]>()
  const first = new Map<string, Finding>()
  for (const { name, findings } of nodes) {
    for (const found of findings) {
      names.set(found.code, [...(names.get(found.code) ?? []), name])
      if (!first.has(found.code)) first.set(found.code, found)
    }
  }
  if (nodes.length === 1) return [...first.values()]
  return Array.from(first.values(), (found) => ({
    ...found,
    message: `${found.message} (${names.get(found.code)?.join(', ')})`,
  }))
}

const unseen = (): Finding =>
  finding(
    'INFO_FORBIDDEN',
    'The server tells a script nothing about itself: version, role, eviction and persistence are unknown',
  )

/** Finds a key on each node that the client knows. */
function keysByNode(store: LeaseStore, key: string): ReadonlyMap<string, string> {
  const keys = new Map<string, string>()
  for (let at = 0; at < namesTried; at++) {
    const name = store.nodeOf(`${key}:${at}`)
    if (!keys.has(name)) keys.set(name, `${key}:${at}`)
  }
  return keys
}

async function plainReport(behind: RedisBehind, budget: Budget): Promise<ServerReport | undefined> {
  const info = await plainAnswer(behind, ['INFO'], budget)
  return typeof info === 'string' && info ? parseServerReport(info) : undefined
}

/** The reply to `CONFIG GET save`: a list, or with RESP3 a map. */
function snapshotSetting(reply: unknown): string | undefined {
  const value: unknown = Array.isArray(reply) ? reply[1] : (reply as { readonly save?: unknown } | undefined)?.save
  return typeof value === 'string' ? value : undefined
}

/** What a plain client can do on a cluster node: everything, as long as that node has every slot. */
async function plainOnCluster(store: LeaseStore, key: string, budget: Budget): Promise<Finding> {
  const requests = Array.from({ length: slotsTried }, (_, at) => ({ key: `${key}:${at}`, cursor: '-' }))
  const outcomes = await budget.ask(store.commandDeadlineMs, (call) => store.checkHolders(requests, call))
  for (const outcome of outcomes ?? []) {
    if (outcome.type === 'checked') continue
    const found = refusal(reasonIn(outcome), store.prefix)
    if (found) return found
  }
  return finding(
    'CLUSTER_ONE_NODE',
    'The server is a node of a cluster and the client a plain one; this node has every slot',
  )
}
