import type { Context } from 'hono'

/** The cached forms of a body that still have its bytes, or at least the same JSON. A parsed form has lost them. */
const exact = ['arrayBuffer', 'blob', 'json', 'text']

/**
 * The request with a readable body. Earlier middleware may have read it through Hono, which caches the form that was
 * read first.
 */
export async function readable({ req }: Context): Promise<Request> {
  const { raw, bodyCache } = req
  const [kept = ''] = Object.keys(bodyCache)
  return raw.bodyUsed && exact.includes(kept) ? new Request(raw, { body: await req.arrayBuffer() }) : raw
}
