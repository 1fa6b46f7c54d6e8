import type { RedisAdmin } from '@leasehold/testkit/redis'

/** The processor time that the server has used, in milliseconds. */
export async function redisCpuMs(admin: RedisAdmin): Promise<number> {
  const info = String(await admin.command('INFO', 'cpu'))
  const seconds = (name: string): number => Number(new RegExp(`^used_cpu_${name}:([\\d.]+)`, 'm').exec(info)?.[1])
  return (seconds('sys') + seconds('user')) * 1_000
}
