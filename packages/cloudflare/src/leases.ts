import type { LossReason } from '@leasehold/core'
import { type DelegatedLease, driftMs } from '@leasehold/core/adapter'
import { windowShare } from './figures.ts'
import type { Sql, SqlValue } from './storage.ts'

/** A lease that the object renews. Times are in milliseconds of the wall clock, because they outlive the process. */
export interface LeaseRow {
  readonly token: string
  readonly key: string
  readonly ttlMs: number
  /** The time until which the store certainly keeps the lease. */
  readonly validUntilMs: number
  readonly dueMs: number
  /** When its `maxHold` is over, if it has one. */
  readonly holdUntilMs: number | null
  /** When its grace is over; null while somebody has a link to it. */
  readonly graceUntilMs: number | null
  /**
   * Whether (1 or 0) `validUntilMs` is based on a renewal by this process, not on a holder's word or another process's
   * clock.
   */
  readonly confirmed: number
  /** How many renewals in a row have got no answer. */
  readonly unanswered: number
}

const schema = `
  CREATE TABLE IF NOT EXISTS leases (
    token TEXT PRIMARY KEY,
    key TEXT NOT NULL,
    ttlMs INTEGER NOT NULL,
    validUntilMs INTEGER NOT NULL,
    dueMs INTEGER NOT NULL,
    holdUntilMs INTEGER,
    graceUntilMs INTEGER,
    confirmed INTEGER NOT NULL,
    unanswered INTEGER NOT NULL
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS requests (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    atMs INTEGER NOT NULL,
    leases INTEGER NOT NULL,
    trouble TEXT
  )`

/** SQL for when the alarm must go off for a lease, for whatever reason. */
const nextMs = 'min(dueMs, validUntilMs, ifnull(holdUntilMs, dueMs), ifnull(graceUntilMs, dueMs))'

/** The leases of one object, kept only in its storage. */
export class Leases {
  readonly #sql: Sql

  constructor(sql: Sql) {
    this.#sql = sql
    sql.exec(schema)
  }

  /** After a restart: nobody has a link, and the clock may be that of another machine. */
  restart(graceUntilMs: number): void {
    this.#sql.exec('UPDATE leases SET confirmed = 0, graceUntilMs = ifnull(graceUntilMs, ?)', graceUntilMs)
  }

  get count(): number {
    return Number(this.#rows('SELECT count(*) AS n FROM leases')[0]?.['n'])
  }

  get(token: string): LeaseRow | undefined {
    return this.#leases('WHERE token = ?', token)[0]
  }

  /** Adopts a lease. If adopted before, keeps the later validity, the earlier due time and the stored `maxHold`. */
  adopt({ token, key, ttlMs, expiresInMs, holdForMs }: DelegatedLease, nowMs: number): void {
    const validUntilMs = Math.floor(nowMs + expiresInMs - driftMs(ttlMs))
    // Due when a third of the ttl has passed since the last renewal.
    const dueMs = Math.floor(nowMs + Math.max(0, expiresInMs - (ttlMs * 2) / 3))
    const holdUntilMs = holdForMs === undefined ? null : Math.floor(nowMs + holdForMs)
    this.#sql.exec(
      `INSERT INTO leases VALUES (?, ?, ?, ?, ?, ?, NULL, 0, 0) ON CONFLICT (token) DO UPDATE SET
        validUntilMs = max(validUntilMs, excluded.validUntilMs), dueMs = min(dueMs, excluded.dueMs), graceUntilMs = NULL`,
      ...[token, key, Math.ceil(ttlMs), validUntilMs, dueMs, holdUntilMs],
    )
  }

  unlink(token: string, graceUntilMs: number): void {
    this.#sql.exec('UPDATE leases SET graceUntilMs = ? WHERE token = ?', graceUntilMs, token)
  }

  drop(token: string): void {
    this.#sql.exec('DELETE FROM leases WHERE token = ?', token)
  }

  /**
   * Drops the leases whose stored deadlines have passed. Returns each with why it is lost; undefined if its holder has
   * gone.
   */
  dropOver(nowMs: number): readonly { readonly token: string; readonly reason: LossReason | undefined }[] {
    const over = this.#leases('WHERE validUntilMs <= ? OR holdUntilMs <= ? OR graceUntilMs <= ?', nowMs, nowMs, nowMs)
    return over.map(({ token, validUntilMs, holdUntilMs, unanswered }) => {
      this.drop(token)
      if (holdUntilMs !== null && holdUntilMs <= nowMs) return { token, reason: 'max-hold' }
      if (validUntilMs > nowMs) return { token, reason: undefined }
      return { token, reason: unanswered > 0 ? 'unreachable' : 'expired' }
    })
  }

  /** The leases that are due, plus all that soon will be; none unless at least one is due. */
  due(nowMs: number): readonly LeaseRow[] {
    if (this.#leases('WHERE dueMs <= ? LIMIT 1', nowMs).length === 0) return []
    return this.#leases(`WHERE dueMs <= ? + ttlMs * ${windowShare}`, nowMs)
  }

  /** When the alarm must go off; undefined if there is no lease. */
  nextMs(): number | undefined {
    return (this.#rows(`SELECT min(${nextMs}) AS at FROM leases`)[0]?.['at'] as number | null) ?? undefined
  }

  renewed({ token, ttlMs }: LeaseRow, sentAtMs: number): void {
    this.#sql.exec(
      `UPDATE leases SET validUntilMs = max(validUntilMs * confirmed, ?), dueMs = ?, confirmed = 1, unanswered = 0 WHERE token = ?`,
      ...[Math.floor(sentAtMs + ttlMs - driftMs(ttlMs)), Math.floor(sentAtMs + ttlMs / 3), token],
    )
  }

  unanswered({ token }: LeaseRow, dueMs: number): void {
    this.#sql.exec('UPDATE leases SET unanswered = unanswered + 1, dueMs = ? WHERE token = ?', Math.ceil(dueMs), token)
  }

  /** The store asked for a pause. No lease observes it for longer than the interval between its renewals. */
  keepQuiet(untilMs: number): void {
    this.#sql.exec('UPDATE leases SET dueMs = max(dueMs, min(?, dueMs + ttlMs / 3))', Math.ceil(untilMs))
  }

  /** Records a request to the store, for operators. */
  note(atMs: number, leases: number, trouble: string | null): void {
    this.#sql.exec('INSERT OR REPLACE INTO requests VALUES (1, ?, ?, ?)', atMs, leases, trouble)
  }

  status(): Record<string, SqlValue> {
    const [of = {}] =
      this.#rows(`SELECT count(*) AS leases, count(*) - count(graceUntilMs) AS linked, min(dueMs) AS nextDueMs,
      ifnull(sum(unanswered > 0), 0) AS unanswered, (SELECT atMs FROM requests) AS requestAtMs,
      (SELECT leases FROM requests) AS requestLeases, (SELECT trouble FROM requests) AS trouble FROM leases`)
    return of
  }

  #leases(where: string, ...values: readonly SqlValue[]): LeaseRow[] {
    return this.#rows(`SELECT * FROM leases ${where}`, ...values) as unknown as LeaseRow[]
  }

  #rows(query: string, ...values: readonly SqlValue[]): Record<string, SqlValue>[] {
    return this.#sql.exec(query, ...values).toArray()
  }
}
