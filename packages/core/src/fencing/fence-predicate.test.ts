import { DatabaseSync } from 'node:sqlite'
import { beforeEach, describe, expect, test } from 'vitest'
import { fencePredicate } from './fence-predicate.ts'

let db: DatabaseSync

beforeEach(() => {
  db = new DatabaseSync(':memory:')
  db.exec(`CREATE TABLE orders (id INTEGER PRIMARY KEY, status TEXT, fence INTEGER);
           INSERT INTO orders (id, status) VALUES (1, 'new')`)
})

const status = (id = 1): unknown => db.prepare('SELECT status FROM orders WHERE id = ?').get(id)?.['status']

/** The pattern from the docs. Returns the number of affected rows. */
function update(value: string, fence: number): number {
  const guard = fencePredicate('orders.fence', fence, { placeholder: '?2' })
  const statement = db.prepare(`UPDATE orders SET status = ?1, fence = ?2 WHERE id = 1 AND ${guard.sql}`)
  return Number(statement.run(value, ...guard.params).changes)
}

function upsert(id: number, value: string, fence: number): number {
  const guard = fencePredicate('orders.fence', fence, { placeholder: '?' })
  const statement = db.prepare(`
    INSERT INTO orders (id, status, fence) VALUES (?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET status = excluded.status, fence = excluded.fence WHERE ${guard.sql}`)
  return Number(statement.run(id, value, fence, ...guard.params).changes)
}

describe('a paused holder with fence 1 that writes after its successor with fence 2', () => {
  test('wins over an unguarded UPDATE', () => {
    const unguarded = db.prepare('UPDATE orders SET status = ?, fence = ? WHERE id = 1')
    unguarded.run('from B', 2)
    unguarded.run('from A', 1)
    expect(status()).toBe('from A')
  })

  test('affects no row of a guarded UPDATE', () => {
    expect(update('from B', 2)).toBe(1)
    expect(update('from A', 1)).toBe(0)
    expect(status()).toBe('from B')
  })

  test('affects no row of a guarded INSERT … ON CONFLICT, nor of a guarded DELETE', () => {
    expect(upsert(7, 'from B', 2)).toBe(1)
    expect(upsert(7, 'from A', 1)).toBe(0)
    const guard = fencePredicate('fence', 1, { placeholder: ':fence' })
    const remove = db.prepare(`DELETE FROM orders WHERE id = 7 AND ${guard.sql}`)
    expect(remove.run({ fence: guard.params[0] }).changes).toBe(0)
    expect(status(7)).toBe('from B')
  })
})

describe('a fence predicate', () => {
  test('accepts a row that nobody has fenced, an equal fence and a higher one, also where nothing changes', () => {
    for (const fence of [5, 5, 6]) expect(update('same', fence)).toBe(1)
    expect(update('same', 5)).toBe(0)
  })

  test('compares to the last digit of 2^53', () => {
    expect(update('higher', Number.MAX_SAFE_INTEGER)).toBe(1)
    expect(update('lower', Number.MAX_SAFE_INTEGER - 1)).toBe(0)
  })

  test('stands as one condition among others, whatever surrounds it', () => {
    update('x', 2)
    const { sql, params } = fencePredicate('fence', 1, { placeholder: '?' })
    expect(db.prepare(`SELECT count(*) AS n FROM orders WHERE ${sql} AND id = 1`).get(...params)?.['n']).toBe(0)
    expect(db.prepare(`SELECT count(*) AS n FROM orders WHERE NOT ${sql}`).get(...params)?.['n']).toBe(1)
  })

  test('writes the placeholder as it is given, $1 by default', () => {
    expect(fencePredicate('orders.fence', 7)).toEqual({
      sql: '(orders.fence IS NULL OR orders.fence <= $1)',
      params: [7],
    })
    for (const placeholder of ['$12', '?', '?3', ':fence', '@fence', '$fence'] as const) {
      expect(fencePredicate('f', 7, { placeholder }).sql).toBe(`(f IS NULL OR f <= ${placeholder})`)
    }
  })

  test('takes a qualified or quoted name as column', () => {
    for (const column of [
      'fence',
      '_f1',
      'public.orders.fence',
      '"Orders"."fence"',
      '`o`.`fence`',
      '[dbo].[o].fence',
    ]) {
      expect(fencePredicate(column, 1).sql).toBe(`(${column} IS NULL OR ${column} <= $1)`)
    }
  })

  test.each([
    '',
    ' fence',
    'fence ',
    'fence\n',
    'a b',
    '1fence',
    '.fence',
    'orders.',
    'a..b',
    'fence; DROP TABLE orders',
    'fence--',
    'f(x)',
    `'fence'`,
    '"fence',
    '"a""b"',
    '"a"b',
    '`a"',
    '[a',
    'naïve',
    'a-b',
    null,
    7,
    ['fence'],
  ])('refuses the column %j', (column) => {
    expect(() => fencePredicate(column as string, 1)).toThrow(expect.objectContaining({ option: 'column' }))
  })

  test.each(['', '$', '$0 OR 1=1', '??', '? OR true', ':', ':1', '@a b', 'fence', '1', null, 1])(
    'refuses the placeholder %j',
    (placeholder) => {
      const make = () => fencePredicate('fence', 1, { placeholder: placeholder as '?' })
      expect(make).toThrow(expect.objectContaining({ option: 'placeholder' }))
    },
  )

  test.each([null, undefined, 0, -1, 1.5, Number.NaN, 2 ** 53, '1', 1n])('refuses the fence %s', (fence) => {
    expect(() => fencePredicate('fence', fence as number)).toThrow(expect.objectContaining({ option: 'fence' }))
  })
})
