/**
 * What `await using` needs of a value. Declared here because TypeScript 5.0 lacks the library `esnext.disposable`, and
 * later versions load it only in projects that ask for it. Where it is loaded, the two declarations merge.
 */
declare global {
  interface SymbolConstructor {
    readonly dispose: unique symbol
    readonly asyncDispose: unique symbol
  }
  interface Disposable {
    [Symbol.dispose](): void
  }
  interface AsyncDisposable {
    [Symbol.asyncDispose](): PromiseLike<void>
  }
}

/** A value that is disposed at the end of its block: `await using lease = …`. */
export interface BlockScoped extends AsyncDisposable {}
