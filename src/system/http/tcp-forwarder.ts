import { connect, createServer, type Socket } from 'node:net';
import { listenErrorOf, type SocketAddress } from './http-listener.ts';

/** Listens and forwards connections until it is closed. */
export interface TcpForwarder {
  /** Resolves when the port is free. Open connections continue unless `end` is passed, which resets them. */
  close(end?: 'connections'): Promise<void>;
}

/**
 * Starts a forwarder; rejects with ListenError. `target` is called for each connection. A connection is reset when there is no target or
 * the target refuses it.
 */
export type ForwardTcp = (place: SocketAddress, target: () => SocketAddress | undefined) => Promise<TcpForwarder>;

/** Creates forwarders that share a limit: together they forward at most `maximum` connections at a time and reset further ones. */
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

/** Copies data between both sockets and passes on how each side ends: a FIN leaves the other direction open, a reset ends both. */
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
