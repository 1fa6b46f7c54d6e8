import { styleText } from 'node:util'

/** Color if the terminal supports it; plain text in a pipe, or if `NO_COLOR` is set. */
export const paint = (color: 'bold' | 'cyan' | 'dim' | 'green' | 'magenta' | 'red' | 'yellow', text: string): string =>
  styleText(color, text, { stream: process.stdout })
