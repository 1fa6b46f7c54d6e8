import stringWidth from 'string-width'

/** A column of a table of `R`. */
export interface Column<R> {
  readonly head: string
  readonly of: (row: R) => string
  /** Numbers stand to the right. */
  readonly right?: boolean
  /** Whether it may be cut short, and how short. */
  readonly least?: number
  /** Left out where the table does not fit: those with the highest number first. Without one it stays. */
  readonly spare?: number
  /** Colours a cell that is already cut and padded. */
  readonly paint?: (cell: string, row: R) => string
}

const gap = 2
/** How far the columns stand apart where nothing says how wide a line may be: what is longer moves the rest of its own line only. */
const mostPadding = 48

/**
 * The lines of a table that is at most `columns` wide: long cells are cut short, and then spare columns are left out.
 *
 * @param columns undefined if it may be as wide as it has to
 * @param paintHead colours the first line
 */
export function tableLines<R>(
  all: readonly Column<R>[],
  rows: readonly R[],
  columns: number | undefined,
  paintHead: (line: string) => string = (line) => line,
): readonly string[] {
  let shown = all
  let widths = widthsOf(shown, rows)
  if (columns !== undefined) {
    while (least(shown, widths) > columns && shown.some(({ spare }) => spare !== undefined)) {
      shown = withoutSparest(shown)
      widths = widthsOf(shown, rows)
    }
    widths = fitted(shown, widths, columns)
  } else widths = widths.map((width, at) => (shown[at]?.least === undefined ? width : Math.min(width, mostPadding)))
  const cell = columns === undefined ? padded : cutAndPadded
  const line = (cells: readonly string[]): string => cells.join(' '.repeat(gap)).trimEnd()
  const head = shown.map((column, at) => cell(column.head, widths[at] ?? 0, column.right))
  return [
    paintHead(line(head)),
    ...rows.map((row) =>
      line(
        shown.map((column, at) => {
          const text = cell(column.of(row), widths[at] ?? 0, column.right)
          return column.paint?.(text, row) ?? text
        }),
      ),
    ),
  ]
}

const widthsOf = <R>(columns: readonly Column<R>[], rows: readonly R[]): readonly number[] =>
  columns.map((column) =>
    rows.reduce((widest, row) => Math.max(widest, stringWidth(column.of(row))), stringWidth(column.head)),
  )

const total = (widths: readonly number[]): number =>
  widths.reduce((sum, width) => sum + width, 0) + gap * Math.max(0, widths.length - 1)

const least = <R>(columns: readonly Column<R>[], widths: readonly number[]): number =>
  total(widths.map((width, at) => Math.min(width, columns[at]?.least ?? width)))

function withoutSparest<R>(columns: readonly Column<R>[]): readonly Column<R>[] {
  const sparest = Math.max(...columns.map(({ spare }) => spare ?? -1))
  return columns.filter(({ spare }) => spare !== sparest)
}

/** Takes from the widest column that may be cut, one character at a time, until all fit. */
function fitted<R>(columns: readonly Column<R>[], natural: readonly number[], most: number): readonly number[] {
  const widths = [...natural]
  let surplus = total(widths) - most
  while (surplus > 0) {
    const cuttable = widths.flatMap((width, at) => (width > (columns[at]?.least ?? width) ? [at] : []))
    if (cuttable.length === 0) break
    const widest = cuttable.reduce((one, other) => ((widths[other] ?? 0) > (widths[one] ?? 0) ? other : one))
    widths[widest] = (widths[widest] ?? 0) - 1
    surplus--
  }
  return widths
}

const cutAndPadded = (text: string, width: number, right?: boolean): string => padded(cutTo(text, width), width, right)

function padded(text: string, width: number, right = false): string {
  const padding = ' '.repeat(Math.max(0, width - stringWidth(text)))
  return right ? padding + text : text + padding
}

/** Text that is at most so wide, with `…` in place of what was cut. */
export function cutTo(text: string, width: number): string {
  if (stringWidth(text) <= width) return text
  let cut = ''
  let taken = 0
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    taken += stringWidth(segment)
    if (taken > width - 1) break
    cut += segment
  }
  return width > 0 ? `${cut}…` : ''
}
