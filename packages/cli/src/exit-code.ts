/** The program's exit codes, for scripts. The README and `--help` list the same. */
export const exitCode = {
  /** It is done; the answer is yes. */
  done: 0,
  /** The answer is no: the lock is free, the operator said no, the doctor found an error, the promise was not kept. */
  no: 1,
  /** The command line cannot be carried out as it is. Nothing was sent. */
  usage: 2,
  /** There is no answer: Redis could not be reached, did not answer or refused, or the key holds no lock. */
  unavailable: 3,
  /**
   * Ended before it was done, by Ctrl-C or SIGTERM, or because its reader is gone. `watch` exits with 0 after Ctrl-C.
   */
  interrupted: 130,
} as const

export type ExitCode = (typeof exitCode)[keyof typeof exitCode]
