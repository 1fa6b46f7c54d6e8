import type { Contestant } from '../contestants/contestant.ts'
import { gatewayProgram } from '../contestants/gateway.ts'
import { startBridgeProcess } from './bridge-process.ts'
import { type Crew, startCrew } from './crew.ts'

/** Starts a crew, and the gateway in front of Redis for a contestant that speaks HTTP. */
export async function startTeam(
  size: number,
  contestant: Contestant,
  redisPort: number,
  nodeArgs?: readonly string[],
): Promise<Crew> {
  if (contestant.client !== 'http') return startCrew(size, contestant, redisPort, nodeArgs)
  const gateway = await startBridgeProcess(gatewayProgram, redisPort)
  try {
    const crew = await startCrew(size, contestant, Number(new URL(gateway.url).port), nodeArgs)
    return {
      members: crew.members,
      async [Symbol.asyncDispose]() {
        await crew[Symbol.asyncDispose]()
        await gateway[Symbol.asyncDispose]()
      },
    }
  } catch (error) {
    await gateway[Symbol.asyncDispose]()
    throw error
  }
}
