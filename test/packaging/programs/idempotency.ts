import { createLocker, InvalidOptionError } from '@leasehold/core'
import { memoryStore } from '@leasehold/core/memory'
import { type IdempotencyEvent, type IdempotentWork, idempotent } from '@leasehold/idempotency'

/** A handler whose second request gets the answer of the first. */
export async function main(): Promise<string> {
  const locks = createLocker({ store: memoryStore() })
  const told: IdempotencyEvent[] = []
  const handle = idempotent({ locks, scope: 'tenant', onEvent: (event) => told.push(event) })
  let runs = 0
  const work: IdempotentWork = async (request, { run }) => {
    runs++
    return new Response(await request.text(), { status: run && run.fence > 0 ? 201 : 500 })
  }
  const send = (): Promise<Response> =>
    handle(
      new Request('https://shop.example/', { method: 'POST', headers: { 'idempotency-key': 'k' }, body: 'a' }),
      work,
    )
  const answers = [await send(), await send()]
  const texts = await Promise.all(answers.map((each) => each.text()))
  await locks.close()
  try {
    idempotent({ locks, scope: '' })
  } catch (error) {
    if (error instanceof InvalidOptionError) return `${runs} ${texts.join('')} ${answers[1]?.status} ${error.option}`
  }
  return 'no error'
}
