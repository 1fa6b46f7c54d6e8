/** The processor time that this process has used, in milliseconds. */
export function processCpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}
