/** Calls share nothing here: see `sharing.ts`, which this file replaces under `workerd` and `edge-light`. */
export const sharesBetweenCalls = (): boolean => false
