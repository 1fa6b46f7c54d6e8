import { packageBuild } from '../../tsdown.base.ts'

export default packageBuild(import.meta.dirname, ['src/bin/bridge.ts', 'src/bin/gateway.ts'])
