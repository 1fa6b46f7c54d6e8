/** Something that can be on one roster at a time. */
export interface Member {
  /** Where it is on its roster. Only the roster writes it. */
  place: number
}

/**
 * A set of things that come and go all the time. A `Set` used so leaves a chain of outgrown tables behind, and what is in one
 * of them lives on until the next full garbage collection. This is one array: the last member takes the place of one that goes.
 */
export class Roster<T extends Member> {
  readonly #members: T[] = []

  get size(): number {
    return this.#members.length
  }

  has(member: T): boolean {
    return this.#members[member.place] === member
  }

  add(member: T): void {
    if (!this.has(member)) member.place = this.#members.push(member) - 1
  }

  delete(member: T): void {
    if (!this.has(member)) return
    const last = this.#members.pop() as T
    if (last === member) return
    this.#members[member.place] = last
    last.place = member.place
  }

  /** Its members, as a copy. */
  all(): T[] {
    return this.#members.slice()
  }
}
