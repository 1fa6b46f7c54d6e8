/** Pending events, in order of time; in order of arrival if the time is the same. A binary heap. */
export class Events {
  readonly #heap: Event[] = []
  #number = 0

  add(atMs: number, step: () => void): void {
    const heap = this.#heap
    const event = { atMs, number: this.#number++, step }
    let at = heap.push(event) - 1
    for (let parent = (at - 1) >> 1; at > 0 && isBefore(event, heap[parent] as Event); parent = (at - 1) >> 1) {
      heap[at] = heap[parent] as Event
      at = parent
    }
    heap[at] = event
  }

  next(): Event | undefined {
    const heap = this.#heap
    const [first] = heap
    const last = heap.pop()
    if (!first || !last || first === last) return first
    let at = 0
    for (let child = 1; child < heap.length; child = 2 * at + 1) {
      if (child + 1 < heap.length && isBefore(heap[child + 1] as Event, heap[child] as Event)) child++
      if (isBefore(last, heap[child] as Event)) break
      heap[at] = heap[child] as Event
      at = child
    }
    heap[at] = last
    return first
  }
}

interface Event {
  readonly atMs: number
  readonly number: number
  readonly step: () => void
}

const isBefore = (one: Event, other: Event): boolean =>
  one.atMs === other.atMs ? one.number < other.number : one.atMs < other.atMs
