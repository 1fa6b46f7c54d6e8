import { describe, expect, it } from 'vitest'
import { encodeCommand, type RedisReply, ReplyReader } from './resp.ts'

const bytes = Buffer.from('+OK\r\n:-7\r\n$-1\r\n*-1\r\n$4\r\na\r\nb\r\n*2\r\n*1\r\n:1\r\n-ERR no\r\n$2\r\né\r\n')
const replies = ['OK', -7, null, null, 'a\r\nb', [[1], new Error('ERR no')], 'é']

describe('ReplyReader', () => {
  it('reads the same replies wherever the network cuts the bytes', () => {
    for (let size = 1; size <= bytes.length; size++) {
      const reader = new ReplyReader()
      const read: RedisReply[] = []
      for (let at = 0; at < bytes.length; at += size) {
        reader.push(bytes.subarray(at, at + size))
        for (let reply = reader.next(); reply !== undefined; reply = reader.next()) read.push(reply)
      }
      expect(read).toEqual(replies)
    }
  })

  it('refuses what is not a reply', () => {
    const reader = new ReplyReader()
    reader.push(Buffer.from('HTTP/1.1 400 Bad Request\r\n'))
    expect(() => reader.next()).toThrow('cannot begin with "H"')
  })
})

describe('encodeCommand', () => {
  it('counts bytes, not characters', () => {
    expect(encodeCommand(['SET', 'é', 1]).toString()).toBe('*3\r\n$3\r\nSET\r\n$2\r\né\r\n$1\r\n1\r\n')
  })
})
