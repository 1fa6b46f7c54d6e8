/** The runtime of this program, such as `Node 20`. */
const { bun, deno, node } = process.versions as Partial<Record<string, string>>
export const runtime: string = (bun ? `Bun ${bun}` : deno ? `Deno ${deno}` : `Node ${node}`).replace(/\..*/, '')
