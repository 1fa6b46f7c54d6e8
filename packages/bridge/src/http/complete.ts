/** Options with none omitted or undefined. */
export type Complete<T> = { readonly [K in keyof T]-?: Exclude<T[K], undefined> }
