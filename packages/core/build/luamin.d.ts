/** The part we use of a package that has no types. */
declare module 'luamin' {
  const luamin: { minify(code: string): string }
  export = luamin
}
