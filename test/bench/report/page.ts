import { circumstances } from './circumstances.ts'
import { pageTables } from './page-tables.ts'
import { measuredIn, type Recording } from './recording.ts'

/**
 * The page with its tables regenerated: the text between `<!-- table: name -->` and `<!-- end -->`. A table without
 * figures in the recording stays as it is.
 *
 * @throws Error for an unknown table name
 */
export function filledPage(page: string, recording: Recording): string {
  return page.replaceAll(/(<!-- table: (\S+) -->\n).*?(<!-- end -->)/gs, (whole, begin, name, end) => {
    const table = pageTables[name]
    if (!table) throw new Error(`The page has a table "${name}", and the bench makes none`)
    if (table.scenario === undefined) return `${begin}${table.make([])}\n${end}`
    const all = measuredIn(recording, table.scenario)
    const measured = table.tables ? all.filter((each) => table.tables?.includes(each.table)) : all
    if (measured.length === 0) return whole
    const machine = recording[table.scenario]?.machine
    return `${begin}${table.make(measured)}\n\n${machine}; ${circumstances(measured)}.\n${end}`
  })
}
