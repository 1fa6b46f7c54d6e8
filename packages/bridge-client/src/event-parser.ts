/** The fields of one event from a bridge, each with its last value. */
export type EventFields = { [name in 'event' | 'data' | 'retry']?: string }

/**
 * Parses the text of an event stream and calls back with each event, even one without data. If the callback throws, the
 * event is skipped. So are comments and other fields. The bridge sends no multi-line data.
 *
 * @returns a function that takes all unread text and returns what remains: the beginning of a line. A CR at the end remains too,
 *   because an LF may follow.
 */
export function eventParser(onEvent: (fields: EventFields) => void): (text: string) => string {
  let fields: EventFields = {}
  return (text) => {
    const lines = text.split(/\r\n|\n|\r(?!$)/)
    const rest = lines.pop() as string
    for (const line of lines) {
      // Without the `s` flag, `.` would stop at a U+2028, which a key may contain.
      const [, name, value] = /^(event|data|retry): ?(.*)/s.exec(line) ?? []
      if (name) fields[name as keyof EventFields] = value as string
      if (line) continue
      try {
        onEvent(fields)
      } catch {
        // An event that cannot be read must not end the stream of all keys.
      }
      fields = {}
    }
    return rest
  }
}
