/** Options of which none is left out, nor undefined. */
export type Complete<T> = { readonly [K in keyof T]-?: Exclude<T[K], undefined> }
