import type { Context } from 'hono'

/** The cached forms of a body that still have its bytes, or at least the same JSON. A form that was parsed has lost them. */
const exact = ['arrayBuffer', 'blob', 'json', 'text']

/** The request with a body that can be read. Earlier middleware may have read it through Hono, which keeps what it read first. */
export async function readable({ req }: Context): Promise<Request> {
  const { raw, bodyCache } = req
  const [kept = ''] = Object.keys(bodyCache)
  return raw.bodyUsed && exact.includes(kept) ? new Request(raw, { body: await req.arrayBuffer() }) : raw
}
