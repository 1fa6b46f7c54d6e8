import type { WaitUntil } from '@leasehold/core'
import { answerClaim } from './answer-claim.ts'
import { readBody } from './body-reader.ts'
import { fingerprintOf, hashed } from './fingerprint.ts'
import { GuardedRequest, unheeded } from './guarded-request.ts'
import { keyOf } from './idempotency-key.ts'
import { type IdempotentOptions, type Settings, settingsOf } from './options.ts'
import { recordName } from './record-name.ts'
import type { IdempotentWork } from './work.ts'

/**
 * Answers one request: runs the work, replays its recorded answer, or says why it does neither.
 *
 * Work that has begun continues and is recorded even if its client leaves. For runtimes that stop with the response,
 * the locker's `waitUntil` is given each run until it ends; a `waitUntil` given here gets everything done for this
 * request.
 *
 * It rejects with what the work throws, with what `scope`, `fingerprint` or `inDoubt` throws, and with the reason of the request's
 * signal if the client leaves before the work has begun. Everything else is an answer.
 */
export type IdempotentHandle<Asked = Request> = (
  request: Request,
  work: IdempotentWork,
  ...call: Request extends Asked
    ? [call?: IdempotentCall<Asked>]
    : [call: IdempotentCall<Asked> & { readonly asked: Asked }]
) => Promise<Response>

export interface IdempotentCall<Asked = Request> {
  readonly waitUntil?: WaitUntil | undefined
  /** What `scope` is called with; default: the request itself. */
  readonly asked?: Asked | undefined
}

/**
 * Makes handlers idempotent by the `Idempotency-Key` header. It checks the options once, and does no I/O.
 *
 * Of the requests with the same key, one runs the work, and the others get its answer, or are told why not. It cannot
 * promise that the work's effect happens only once: a process may die between the effect and its record. Then the key
 * is in doubt, and `inDoubt` decides.
 *
 * @example
 * ```ts
 * const handle = idempotent({ locks, scope: (request) => tenantOf(request) })
 *
 * const response = await handle(request, async (request, { run }) => {
 *   const receipt = await pay(await request.json(), { fence: run?.fence, signal: request.signal })
 *   return Response.json(receipt, { status: 201 })
 * })
 * ```
 *
 * @throws InvalidOptionError naming the first option that is unknown or bad
 */
export function idempotent<Asked = Request>(options: IdempotentOptions<Asked>): IdempotentHandle<Asked> {
  const settings = settingsOf(options)
  return (request, work, ...[{ waitUntil, asked = request } = {}]) => {
    const answered = answer(settings, request, work, asked)
    if (waitUntil) unheeded(() => waitUntil(answered.catch(() => undefined)))
    return answered
  }
}

/** Names of the records whose runs a request belongs to: handles may be nested, but not under the same name. */
const namesAround = new WeakMap<Request, readonly string[]>()

/** Whatever can be refused without the store is refused before asking it. */
async function answer(settings: Settings, request: Request, work: IdempotentWork, asked: unknown): Promise<Response> {
  const { methods, required, longestKey } = settings
  if (!methods.has(request.method.toUpperCase())) return work(request, { run: undefined, key: undefined })
  const found = keyOf(request, longestKey)
  const guarded = new GuardedRequest(request, settings)
  if ('problem' in found) {
    if (found.problem === 'key-missing' && !required) return work(request, { run: undefined, key: undefined })
    return guarded.problem(found.problem)
  }
  const { key } = found
  const { scope, largestBody, bodyWithinMs, fingerprint, clock } = settings
  const owner = typeof scope === 'function' ? await scope(asked as never) : scope
  const around = namesAround.get(request) ?? []
  let name: string
  try {
    name = await recordName(owner, key)
    if (around.includes(name)) throw new TypeError('Another handle around this one has this key')
    const isTaken = request.bodyUsed || request.body?.locked
    if (isTaken) throw new TypeError('The body was read before; the handle needs it for the fingerprint')
  } catch (error) {
    return guarded.misconfigured(error)
  }
  if (Number(request.headers.get('content-length')) > largestBody) return guarded.problem('body-too-large')
  const read = await readBody(request.body, {
    clock,
    largest: largestBody,
    withinMs: bodyWithinMs,
    signal: request.signal,
  }).catch((error: unknown) => {
    if (request.signal.aborted) throw error
  })
  if (!read) return guarded.problem('body-broken')
  if (read.type !== 'whole') {
    read.drop()
    return guarded.problem(`body-${read.type}`)
  }
  const { bytes } = read
  const print = await (fingerprint ? hashed(await fingerprint(request, bytes)) : fingerprintOf(request, bytes))
  return answerClaim(guarded, { key, name, fingerprint: print }, (run) => {
    const handed = again(request, bytes, run.signal)
    namesAround.set(handed, [...around, name])
    return work(handed, { run, key })
  })
}

/**
 * The request with an unread body and another signal. It is made from parts, because a framework's request is not
 * always a request to the runtime.
 */
function again(request: Request, bytes: Uint8Array<ArrayBuffer>, signal: AbortSignal): Request {
  const { url, method, headers, body, cf } = request as Request & { readonly cf?: unknown }
  const init = { method, headers, signal, body: body && bytes, ...(cf !== undefined && { cf }) }
  const made = new Request(url, init)
  // On Node, a signal does not keep the requests that follow it alive. A request that is garbage collected is never
  // aborted, and neither is what the work has passed its signal to. The run holds its signal, and through this listener
  // the request.
  signal.addEventListener('abort', () => made, { once: true })
  return made
}
