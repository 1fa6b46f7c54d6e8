import { describe, expect, it } from 'vitest'
import { type Member, Roster } from './roster.ts'

const member = (): Member => ({ place: 0 })

describe('a roster', () => {
  it('has what was added and not deleted, in whatever order members come and go', () => {
    const roster = new Roster<Member>()
    const [a, b, c, d] = [member(), member(), member(), member()]
    for (const each of [a, b, c]) roster.add(each)
    roster.delete(a)
    roster.add(d)
    roster.delete(c)
    expect([a, b, c, d].map((each) => roster.has(each))).toEqual([false, true, false, true])
    expect(roster.size).toBe(2)
    expect(new Set(roster.all())).toEqual(new Set([b, d]))
    roster.delete(d)
    roster.delete(b)
    expect(roster.size).toBe(0)
  })

  it('has a member once, however often it is added, and deletes none that is not on it', () => {
    const roster = new Roster<Member>()
    const [a, b] = [member(), member()]
    roster.add(a)
    roster.add(a)
    // A member that was never added has the index of another.
    roster.delete(b)
    expect(roster.all()).toEqual([a])
    roster.delete(a)
    roster.delete(a)
    roster.add(b)
    roster.delete(a)
    expect(roster.has(b)).toBe(true)
  })

  it('may change while its members are gone through', () => {
    const roster = new Roster<Member>()
    const members = [member(), member(), member()]
    for (const each of members) roster.add(each)
    const seen: Member[] = []
    for (const each of roster.all()) {
      roster.delete(each)
      seen.push(each)
    }
    expect(seen).toEqual(members)
  })
})
