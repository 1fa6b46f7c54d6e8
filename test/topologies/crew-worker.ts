/*
 * A separate process in which a crew is at work until it is killed. Arguments: the name of the topology, that of the
 * client, the tag of the crew's keys, and the ports of the servers that the client is given.
 */
import { createLocker } from '@leasehold/core'
import type { TopologyClient } from './clients.ts'
import { startCrew } from './crew.ts'
import { type Kind, topologies } from './topology.ts'

const [topology, name, tag = '', ...ports] = process.argv.slice(2)
const kind = topologies.find((each) => each.name === topology) as Kind
const client = kind.clients.find((each) => each.name === name) as TopologyClient
const given = ports.map((port) => ({ host: '127.0.0.1', port: Number(port) }))
const { store, notifier } = kind.connect(client, given)
await startCrew([createLocker({ store, notifier })], tag).turns(1)
process.send?.('working')
