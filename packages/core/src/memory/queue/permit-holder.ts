/** One of a lock's several holders. */
export interface PermitHolder {
  readonly token: string
  permits: number
  expiresAtMs: number
}
