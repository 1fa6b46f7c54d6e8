/** What a Worker gets at its module scope, as far as the tests use it. */
declare module 'cloudflare:workers' {
  export const env: {
    readonly GATEWAY_URL: string
    readonly GATEWAY_TOKEN: string
    /** Answers when the test lets the request go on, which is known to it by the path. */
    readonly TEST: { fetch(url: string): Promise<Response> }
  }
}
