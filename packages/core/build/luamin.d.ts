/** The part that we use of a package without types. */
declare module 'luamin' {
  const luamin: { minify(code: string): string }
  export = luamin
}
