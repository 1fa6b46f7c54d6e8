/**
 * A Lua script with the names of its keys and arguments, as a generated module exports it.
 *
 * Every script takes some arguments once (`Args`) and then serves any number of requests, each with its own keys and
 * arguments (`Keys`, `Each`), so that one command can carry one lock or a hundred.
 */
export interface Script<Args extends string[], Keys extends string[], Each extends string[]> {
  readonly sha1: string
  readonly text: string
  /** Never present: carries the names to the type checker. */
  readonly takes?: { args: Args; keys: Keys; each: Each }
}
