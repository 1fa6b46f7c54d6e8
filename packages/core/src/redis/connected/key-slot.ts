const slotCount = 16_384
const encoder = new TextEncoder()
let table: Uint16Array | undefined

/** The cluster slot of a key: the CRC-16 (XMODEM) of its hash tag, or of all of it if it has none, modulo 16,384. */
export function keySlot(key: string): number {
  const open = key.indexOf('{')
  const close = key.indexOf('}', open + 1)
  const hashed = open >= 0 && close > open + 1 ? key.slice(open + 1, close) : key
  table ??= crcTable()
  let crc = 0
  for (const byte of encoder.encode(hashed)) crc = ((crc << 8) & 0xffff) ^ (table[(crc >> 8) ^ byte] ?? 0)
  return crc % slotCount
}

/** The remainder of each byte, computed once: each round of renewals asks for thousands of slots. */
const crcTable = (): Uint16Array =>
  Uint16Array.from({ length: 256 }, (_, byte) => {
    let crc = byte << 8
    for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1
    return crc
  })
