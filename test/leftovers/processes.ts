import { readdirSync, readFileSync } from 'node:fs'

export interface Process {
  readonly pid: number
  /** The command, with its arguments. */
  readonly command: string
}

/** All current descendants of a process. */
export function descendantsOf(ancestor: number): readonly Process[] {
  const parents = new Map<number, number>()
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    // The second field is a name in brackets, which may contain anything; the parent is the second after it.
    const parent = /.*\) \S (\d+)/s.exec(read(pid, 'stat'))?.[1]
    if (parent !== undefined) parents.set(Number(pid), Number(parent))
  }
  const descends = (pid: number): boolean => {
    const parent = parents.get(pid)
    return parent !== undefined && (parent === ancestor || descends(parent))
  }
  return [...parents.keys()].filter(descends).map((pid) => ({ pid, command: commandOf(pid) }))
}

/** Compares more than the pid: a dead process's pid stays in use until the parent that inherited it reaps it. */
export const isRunning = ({ pid, command }: Process): boolean => commandOf(pid) === command

const commandOf = (pid: number): string => read(String(pid), 'cmdline').replaceAll('\0', ' ').trim()

function read(pid: string, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    // The process has just ended.
    return ''
  }
}
