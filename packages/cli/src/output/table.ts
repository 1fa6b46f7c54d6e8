import stringWidth from 'string-width'

/** A column of a table of `R`. */
export interface Column<R> {
  readonly head: string
  readonly of: (row: R) => string
  /** Whether cells are right-aligned, as numbers are. */
  readonly right?: boolean
  /** The width that it may be cut to; undefined if it may not be cut. */
  readonly least?: number
  /** Where the table does not fit, columns with the highest number are left out first. A column without one stays. */
  readonly spare?: number
  /** Colors a cell that is already cut and padded. */
  readonly paint?: (cell: string, row: R) => string
}

const gap = 2
/**
 * The widest padding of a column that may be cut, where the line width is open: a longer cell shifts only its own line.
 */
const mostPadding = 48

/**
 * The lines of a table that is at most `columns` wide. Long cells are cut short; where that is not enough, spare
 * columns are left out.
 *
 * @param columns undefined if the table may be as wide as it needs
 * @param paintHead colors the first line
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

/** Narrows the widest column that may be cut, one character at a time, until all fit. */
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

/** Cuts a text to at most `width` cells, with `…` in place of what was cut. */
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
