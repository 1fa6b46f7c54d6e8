/** Something that can be on one roster at a time. */
export interface Member {
  /** Index in its roster. Only the roster writes it. */
  place: number
}

/**
 * A set whose members come and go all the time. A `Set` used like this leaves a chain of outgrown tables behind, and
 * what they contain lives on until the next full garbage collection. A roster is one array: the last member replaces
 * one that is deleted.
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

  /** A copy of its members. */
  all(): T[] {
    return this.#members.slice()
  }
}
