import { packageBuild } from '../../tsdown.base.ts'

export default packageBuild(import.meta.dirname, ['src/bin/leasehold.ts', 'src/bin/stress-process.ts'])
