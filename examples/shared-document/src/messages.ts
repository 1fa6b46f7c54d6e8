/** The messages between a page and its server, as JSON. */

export type Role = 'writer' | 'reviewer' | 'reader'
/** What an exclusive role may change. */
export type Part = 'text' | 'note'

export type FromPage =
  /** A sign of life. */
  | { readonly type: 'ping'; readonly number: number }
  /** Asks for a role; `over`: even if somebody else has it. */
  | { readonly type: 'take'; readonly role: Role; readonly over: boolean }
  | { readonly type: 'write'; readonly number: number; readonly part: Part; readonly value: string }

export type ToPage =
  /**
   * The answer to a ping: for how long, from when the ping was sent, the page can trust its role; and how long ago the
   * store was known to have what the page shows.
   */
  | { readonly type: 'pong'; readonly number: number; readonly trustMs: number; readonly ageMs: number }
  /** The role that the page has now. */
  | { readonly type: 'role'; readonly role: Role }
  | { readonly type: 'held'; readonly role: Role; readonly by: string }
  /** The store has taken this write. There is no answer to one that it refused. */
  | { readonly type: 'written'; readonly number: number }
  /** Who is there, on all servers; null while that is unknown. */
  | { readonly type: 'members'; readonly members: readonly PageMember[] | null }
  | { readonly type: 'document'; readonly text: string; readonly note: string }

export interface PageMember {
  readonly user: string
  readonly roles: readonly string[]
  readonly tabs: number
}
