import { connect, createServer, type Socket } from 'node:net';
import { listenErrorOf, type SocketAddress } from './http-listener.ts';

/** Listens, and passes on what comes in, until it is closed. */
export interface TcpForwarder {
  /** Resolves when the port is free. Connections go on, unless `end` is said: then they are reset. */
  close(end?: 'connections'): Promise<void>;
}

/**
 * Rejects with ListenError. `target` is asked for each connection; undefined: there is nowhere to pass it on to, and it is reset, as
 * is one that is refused there.
 */
export type ForwardTcp = (place: SocketAddress, target: () => SocketAddress | undefined) => Promise<TcpForwarder>;

/** Of the machine. All forwarders together pass on `maximum` connections at a time; further ones are reset. */
export function tcpForwarding(maximum: number): ForwardTcp {
  let open = 0;
  return (place, target) =>
    new Promise((resolve, reject) => {
      const connections = new Set<Socket>();
      const server = createServer({ allowHalfOpen: true, pauseOnConnect: true, keepAlive: true }, (client) => {
        const to = target();
        client.on('error', () => undefined);
        if (to === undefined || open >= maximum) {
          client.resetAndDestroy();
          return;
        }
        open++;
        connections.add(client);
        client.once('close', () => {
          open--;
          connections.delete(client);
        });
        relay(client, connect({ host: to.address, port: to.port, allowHalfOpen: true, keepAlive: true }));
      });
      server.once('error', (error) => reject(listenErrorOf(error)));
      server.listen({ host: place.address, port: place.port, ipv6Only: true, exclusive: true }, () => {
        server.on('error', () => undefined);
        resolve({
          close: async (end) => {
            server.close();
            if (end === 'connections') for (const each of connections) each.resetAndDestroy();
          },
        });
      });
    });
}

/** Each side hears what the other says, and how it ends: by a FIN, after which the other may go on, or by a reset. */
function relay(client: Socket, server: Socket): void {
  for (const [one, other] of [
    [client, server],
    [server, client],
  ] as const) {
    one.on('error', () => other.resetAndDestroy());
    one.once('close', () => {
      if (!other.destroyed && !one.readableEnded) other.resetAndDestroy();
    });
  }
  server.once('connect', () => {
    client.pipe(server);
    server.pipe(client);
  });
}
