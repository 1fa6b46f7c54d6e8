declare module 'cloudflare:workers' {
  /** All values are text from the environment of `main.ts`. */
  export const env: Readonly<Record<Setting, string>>
  type Setting =
    | 'REDIS_URL'
    | 'REDIS_TOKEN'
    | 'BRIDGE_URL'
    | 'BRIDGE_TOKEN'
    | 'LOCK_PREFIX'
    | 'DATA_PREFIX'
    | 'LOCK_TTL'
    | 'LOCK_WAIT'
    | 'FENCE_MEMORY'
    | 'WORK_MS'
    | 'LOCKS'
    | 'COUPONS'
    | 'SERVER_NAME'
}
