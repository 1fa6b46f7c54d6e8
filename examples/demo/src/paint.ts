import { styleText } from 'node:util'

/** Colour where the terminal has it; plain text in a pipe, and wherever `NO_COLOR` is set. */
export const paint = (color: 'bold' | 'cyan' | 'dim' | 'green' | 'magenta' | 'red' | 'yellow', text: string): string =>
  styleText(color, text, { stream: process.stdout })
