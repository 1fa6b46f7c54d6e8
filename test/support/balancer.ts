import { connect, createServer, type Socket } from 'node:net'

/** One address for several servers on 127.0.0.1, like a load balancer in front of them. */
export interface Balancer extends AsyncDisposable {
  readonly url: string
  /** Open connections, per server. */
  open(): readonly number[]
}

/** Gives each connection to the next server in turn, or to the one after it if that server accepts none. */
export async function startBalancer(ports: readonly number[]): Promise<Balancer> {
  const links = ports.map(() => new Set<Socket>())
  let turn = 0

  function pass(client: Socket, which: number, tries = ports.length): void {
    const server = connect({ port: ports[which] as number, host: '127.0.0.1', allowHalfOpen: true })
    const refused = (): void => {
      if (tries > 1 && !client.destroyed) pass(client, (which + 1) % ports.length, tries - 1)
      else client.destroy()
    }
    server.once('error', refused)
    server.once('connect', () => {
      server.off('error', refused)
      links[which]?.add(client)
      client.once('close', () => links[which]?.delete(client))
      join(client, server)
      join(server, client)
    })
  }

  const listener = createServer({ allowHalfOpen: true }, (client) => {
    client.on('error', () => client.destroy())
    pass(client, turn++ % ports.length)
  })
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  const { port } = listener.address() as { port: number }
  return {
    url: `http://127.0.0.1:${port}`,
    open: () => links.map(({ size }) => size),
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => listener.close(resolve))
      for (const client of links.flatMap((each) => [...each])) client.destroy()
      await closed
    },
  }
}

function join(from: Socket, to: Socket): void {
  from.pipe(to)
  from.on('error', () => to.destroy())
  from.once('close', () => to.destroySoon())
}
