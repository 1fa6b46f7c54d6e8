import { InvalidOptionError } from '@leasehold/core'

/** The used part of a Durable Object's binding; Cloudflare's `DurableObjectNamespace` fits. */
export interface BridgeNamespace<Stub = BridgeStub> {
  getByName(name: string, options?: { locationHint?: string }): Stub
}

/** Sends requests to an object; Cloudflare's `DurableObjectStub` fits. */
export interface BridgeStub {
  fetch(request: Request | string, init?: RequestInit): Promise<Response>
}

export interface BridgeStubOptions {
  /** The name of the object; default `leasehold-bridge`. Another name is another bridge, with its own connections. */
  readonly name?: string
  /**
   * Where the object should be created, such as `weur`; best near Redis. Default: near the first request. It has an effect only
   * when the object is created.
   */
  readonly locationHint?: string
}

/**
 * Finds the one object that is the bridge. A Worker that waits for locks itself should ask the object directly, not
 * through the Worker's own address: `bridgeNotifier({ …, fetch: (url, request) => bridgeStub(env.BRIDGE).fetch(url,
 * request) })`.
 *
 * @throws InvalidOptionError if there is no such binding.
 */
export function bridgeStub<Stub>(namespace: BridgeNamespace<Stub>, options: BridgeStubOptions = {}): Stub {
  const { name = 'leasehold-bridge', locationHint } = options
  if (typeof namespace?.getByName !== 'function') {
    throw new InvalidOptionError('namespace', 'must be the binding of a Durable Object; does this Worker have it?')
  }
  return namespace.getByName(name, locationHint === undefined ? undefined : { locationHint })
}
