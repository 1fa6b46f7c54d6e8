import { parse, resetSVGDefIds, View } from 'vega'
import { compile, type TopLevelSpec } from 'vega-lite'
import { configOf, type Theme } from './theme.ts'

/** Draws a chart as text, without a DOM. The same chart gives the same text. */
export async function drawSvg(spec: TopLevelSpec, theme: Theme): Promise<string> {
  resetSVGDefIds()
  const { spec: compiled } = compile(spec, { config: configOf(theme) })
  const svg = await new View(parse(compiled), { renderer: 'none' }).toSVG()
  return `${svg}\n`
}
