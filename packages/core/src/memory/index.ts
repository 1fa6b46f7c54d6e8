export { memoryNotifier } from './memory-notifier.ts'
export { type MemoryStore, type MemoryStoreOptions, memoryStore } from './memory-store.ts'
