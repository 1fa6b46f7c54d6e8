/** The parts of a runtime that know its process. Node, Bun and Deno have a global `process`; others may not. */
export interface ProcessRuntime {
  readonly process?:
    | {
        readonly pid?: number | undefined
        readonly env?: { readonly HOSTNAME?: string | undefined } | undefined
        /** Missing before Node 20.16. */
        getBuiltinModule?(id: 'node:os'): { hostname(): string } | undefined
      }
    | undefined
  readonly Deno?: { readonly permissions: { querySync(permission: object): { readonly state: string } } } | undefined
}

/** A locker's name may have 64 characters. The rest is left for users who add something to this name. */
const longest = 32

/**
 * Returns host and pid, such as `orders-7c9d5b8f7b-x2x4z-1`, in characters allowed in a locker's name. Undefined if
 * neither is known.
 */
export function processName(runtime: ProcessRuntime): string | undefined {
  const pid = runtime.process?.pid
  const room = longest - (pid ? `-${pid}`.length : 0)
  return [shortened(hostOf(runtime) ?? '', room), pid].filter(Boolean).join('-') || undefined
}

function hostOf({ process, Deno }: ProcessRuntime): string | undefined {
  try {
    // Deno would prompt the user for the missing permission. A default name is not worth that.
    if (Deno && Deno.permissions.querySync({ name: 'sys', kind: 'hostname' }).state !== 'granted') return undefined
    return process?.getBuiltinModule?.('node:os')?.hostname() ?? process?.env?.HOSTNAME
  } catch {
    // The system has no name for its host.
    return undefined
  }
}

/** A long name loses its domain first, then its beginning, because the names of a deployment's pods end differently. */
function shortened(host: string, room: number): string {
  const whole = plain(host)
  return whole.length <= room ? whole : plain(plain(host.replace(/\..*/, '')).slice(-room))
}

const plain = (text: string): string => text.replace(/[^\w-]+/g, '-').replace(/^-+|-+$/g, '')
