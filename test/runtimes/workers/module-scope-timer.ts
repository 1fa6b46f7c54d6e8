/* What a library would do that starts something on import. */
setTimeout(() => undefined, 1)

// biome-ignore lint/style/noDefaultExport: that is what a Worker is
export default {
  fetch: (): Response => Response.json('never'),
}
