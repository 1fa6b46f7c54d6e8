/* What a library that starts something when it is imported would do. */
setTimeout(() => undefined, 1)

// biome-ignore lint/style/noDefaultExport: that is what a Worker is
export default {
  fetch: (): Response => Response.json('never'),
}
