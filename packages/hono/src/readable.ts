import type { Context } from 'hono'

/**
 * The request with a body that can be read. Earlier middleware, such as a validator, may have read it through Hono, which keeps what
 * it has read. A form that was parsed is not the bytes that came, so of such a request the body stays used.
 */
export async function readable({ req }: Context): Promise<Request> {
  const { raw, bodyCache } = req
  const isKept = Object.keys(bodyCache).some((kind) => kind !== 'formData')
  return raw.bodyUsed && isKept ? new Request(raw, { body: await req.arrayBuffer() }) : raw
}
