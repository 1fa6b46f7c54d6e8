import { UsageError } from '../usage-error.ts'

/**
 * Checks the URL of a Redis, so that no client has to guess what it means.
 *
 * @throws UsageError that quotes nothing of the URL: any part of it may be a piece of a password
 */
export function checkRedisUrl(url: string): void {
  if (!/^(rediss?|https?):\/\/[^/]/.test(url)) throw notOne()
  // A character that ends the host does so within a password, too. A piece of the password would then look like a host,
  // a port or a database.
  if (/^[a-z]+:\/\/[^/?#\\]*[/?#\\].*@/is.test(url)) {
    throw new UsageError('--redis has an "@" after the host: percent-encode "/", "?", "#" and "\\" in the password')
  }
  if (!URL.canParse(url)) throw notOne()
  const { protocol, username, password, pathname, search, hash } = new URL(url)
  if (!isEncoded(username) || !isEncoded(password)) {
    throw new UsageError('--redis has a "%" that encodes nothing: percent-encode the password, a "%" as "%25"')
  }
  if (!protocol.startsWith('redis')) return
  if (!/^\/?\d*$/.test(pathname)) {
    throw new UsageError('--redis may have the number of a database after its host, such as redis://127.0.0.1:6379/1')
  }
  if (search || hash) throw new UsageError('--redis must have no "?" or "#": percent-encode them in a password')
}

const notOne = (): UsageError =>
  new UsageError('--redis must be a URL such as redis://127.0.0.1:6379 or https://my.endpoint')

function isEncoded(text: string): boolean {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}
