import { InvalidOptionError } from '../errors.ts'
import { checkFence } from './fence.ts'

export interface FencePredicateOptions {
  /**
   * The placeholder in your driver's syntax; default `$1`. For example `$4` for Postgres, `?` or `?4` for MySQL and
   * SQLite, or a name after `:`, `@` or `$` if the driver supports that.
   */
  readonly placeholder?: `$${string}` | `?${string}` | `:${string}` | `@${string}` | undefined
}

/** A condition for a WHERE clause, and the value of its one placeholder. */
export interface FencePredicate {
  readonly sql: string
  readonly params: readonly [fence: number]
}

const segment = /[a-z_]\w*|"[a-z_]\w*"|`[a-z_]\w*`|\[[a-z_]\w*\]/.source
const columnForm = new RegExp(`^(?:${segment})(?:\\.(?:${segment}))*$`, 'i')
const placeholderForm = /^(?:\?\d*|\$\d+|[$:@][a-z_]\w*)$/i

/**
 * Makes the condition that no holder with a higher fence has written this row: the column is NULL or not above the
 * given fence. An equal fence is accepted. The column must hold 64-bit integers (`BIGINT`, in SQLite `INTEGER`).
 *
 * It guards only together with the write, in one statement that also **stores the fence**:
 *
 * ```ts
 * const guard = fencePredicate('orders.fence', lease.fence, { placeholder: '$2' })
 * const { rowCount } = await db.query(
 *   `UPDATE orders SET status = $1, fence = $2 WHERE id = $3 AND ${guard.sql}`,   // (orders.fence IS NULL OR orders.fence <= $2)
 *   ['paid', ...guard.params, id],
 * )
 * if (rowCount === 0) throw new Error('fenced out')     // a later holder has written, or there is no such row
 * ```
 *
 * For a row that may not exist yet, put the same condition after `ON CONFLICT (id) DO UPDATE SET … WHERE`. Each `?`
 * without a number takes a value of its own: `['paid', lease.fence, id, ...guard.params]`.
 *
 * Zero affected rows mean fenced out, provided the driver counts the rows that *matched*. Postgres and SQLite do, and
 * so do mysql2 and mariadb unless the flag `FOUND_ROWS` is switched off; a repeat that changes nothing then counts as
 * 0.
 *
 * @param column an SQL name, with or without qualifiers. Each part consists of letters, digits and `_`, bare or in
 *   `""`, backticks or `[]`. The name becomes part of the statement, so nothing else is accepted.
 * @throws InvalidOptionError for a bad `column`, `placeholder` or `fence`
 */
export function fencePredicate(
  column: string,
  fence: number,
  { placeholder = '$1' }: FencePredicateOptions = {},
): FencePredicate {
  checkFence(fence)
  if (typeof column !== 'string' || !columnForm.test(column)) {
    throw new InvalidOptionError('column', 'must be an SQL name such as fence, orders.fence or "Orders"."fence"')
  }
  if (typeof placeholder !== 'string' || !placeholderForm.test(placeholder)) {
    throw new InvalidOptionError('placeholder', 'must be such as $1, ?, ?1, :fence or @fence')
  }
  return { sql: `(${column} IS NULL OR ${column} <= ${placeholder})`, params: [fence] }
}
