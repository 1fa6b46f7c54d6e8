/**
 * What `await using` asks of a value, declared here and not taken from TypeScript's `esnext.disposable`: TypeScript 5.0
 * does not have that library, and later ones load it only where a project asks for it. Where it is loaded, the two merge.
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

/** A value that ends with the block that holds it: `await using lease = …`. */
export interface BlockScoped extends AsyncDisposable {}
