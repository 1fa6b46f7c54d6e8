/** The fields of one event by name, each with its last value. A comment is one without a name. */
export type EventFields = Readonly<Record<string, string | undefined>>

/**
 * Reads an event stream and calls back with each event, one without data included. The bridge sends no data of several
 * lines.
 *
 * A line may be cut anywhere between two chunks. A CR that ends a chunk waits for the next, as an LF may follow.
 */
export function eventParser(onEvent: (fields: EventFields) => void): (chunk: string) => void {
  let rest = ''
  let fields: Record<string, string> = {}
  return (chunk) => {
    const lines = (rest + chunk).split(/\r\n|\n|\r(?!$)/)
    rest = lines.pop() as string
    for (const line of lines) {
      if (line) {
        const [, name, value] = /^([^:]*):? ?(.*)/.exec(line) as unknown as readonly [string, string, string]
        fields[name] = value
      } else {
        onEvent(fields)
        fields = {}
      }
    }
  }
}
