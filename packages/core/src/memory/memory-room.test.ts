import { describe, expect, it } from 'vitest'
import { type Entry, MemoryRoom } from './memory-room.ts'

/** A room with so many entries, each of its own user. */
function roomOf(count: number, state: (at: number) => Entry['state']): MemoryRoom {
  const room = new MemoryRoom()
  for (let at = 0; at < count; at++) {
    room.put({
      acquisitionId: at.toString(16).padStart(32, '0'),
      ...{ role: 'reader', exclusive: false, userId: `user-${at}`, sessionId: 'tab', takeOver: 'nobody' },
      ...{ fence: at, sinceMs: 0, state: state(at), till: 1_000 },
    })
  }
  return room
}

describe('a room', () => {
  it('is full with 10,000 sessions, except for one that takes the place of another', () => {
    expect(roomOf(9_999, () => 'in').isFull(0, 0)).toBe(false)
    const room = roomOf(10_000, () => 'in')
    expect([room.isFull(0, 0), room.isFull(1, 0)]).toEqual([true, false])
  })

  it('does not count sessions that left or were displaced, until there are 30,000 with them', () => {
    expect(roomOf(29_999, (at) => (at % 3 === 0 ? 'in' : at % 3 === 1 ? 'left' : 'taken')).isFull(1, 0)).toBe(false)
    expect(roomOf(30_000, () => 'taken').isFull(1, 0)).toBe(true)
  })
})
