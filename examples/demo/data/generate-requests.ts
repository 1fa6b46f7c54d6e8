/** Prints `requests.jsonl`. The lines are the same each time, so that everybody sees the same demo. */

/** How long the stream is, in milliseconds. */
const streamMs = 9_000

const random = mulberry32(20_261_127)
const whole = (from: number, to: number): number => from + Math.floor(random() * (to - from + 1))
const id = (letter: string, number: number): string => `${letter}-${String(number).padStart(3, '0')}`

interface Line {
  readonly at: number
  readonly path: string
  readonly body: object
}
const lines: Line[] = []

// Orders: each is sent twice, the second time soon (a double click) or late (a client's retry); every tenth is hot.
for (let number = 1; number <= 60; number++) {
  const hot = number % 10 === 0
  const orderId = id('o', number)
  const body = { orderId, userId: id('u', whole(1, 60)), productId: id('p', whole(1, 9)), quantity: whole(1, 5) }
  const at = whole(0, streamMs - 1_500)
  const repeats = hot ? 10 : whole(1, 3)
  const times = Array.from({ length: repeats }, () => (random() < 0.6 ? whole(0, 60) : whole(200, 1_500)))
  for (const later of [0, ...times]) lines.push({ at: at + later, path: '/api/orders/process', body })
}

// Coupons: two rushes, with users who press the button more than once, and more users than there are coupons.
for (const [coupon, from, rushMs, users, presses] of [
  ['spring', 1_000, 6_000, 40, 75],
  ['launch', 4_000, 1_500, 25, 45],
] as const) {
  for (let press = 0; press < presses; press++) {
    const body = { userId: id('u', whole(1, users)) }
    lines.push({ at: from + whole(0, rushMs), path: `/api/coupons/${coupon}/issue`, body })
  }
}

for (const line of lines.toSorted((one, other) => one.at - other.at)) console.log(JSON.stringify(line))

/** A small generator of reproducible numbers from 0 to 1. Source: T. Ettinger, public domain. */
function mulberry32(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
