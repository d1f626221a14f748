/**
 * A pod. It answers over TCP and UDP with its name and the client that it saw. Run as `node pod-server.ts NAME PORT...` in the pod's
 * namespace.
 *
 * TCP: one JSON line for each line received. A connection that begins with `GET ` gets it as an HTTP answer, so that curl works. UDP: one
 * JSON datagram for each datagram.
 *
 * SIGTERM ends it gracefully: it refuses new connections, marks its answers on others as the last ones, and exits when those are closed or
 * when its time is up.
 */
import { createSocket } from 'node:dgram';
import { createServer, type Server, type Socket } from 'node:net';
import process from 'node:process';

const maximumLine = 64 * 1024;
const gracePeriodMs = 2000;
const [pod = '', ...ports] = process.argv.slice(2);
const servers: Server[] = [];
let closing = false;

await Promise.all(ports.map(Number).flatMap((port) => [listenTcp(port), listenUdp('udp4', port), listenUdp('udp6', port)]));
process.stdout.write('listening\n');
process.once('SIGTERM', () => {
  closing = true;
  setTimeout(() => process.exit(), gracePeriodMs);
  void Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve)))).then(() => process.exit());
});

function answer(client: string, clientPort: number, port: number): string {
  return JSON.stringify({ pod, client: client.replace(/^::ffff:/, ''), clientPort, port, ...(closing ? { closing } : {}) });
}

async function listenTcp(port: number): Promise<void> {
  const server = createServer({ noDelay: true }, (socket) => serve(socket, port));
  servers.push(server);
  await new Promise<void>((resolve) => {
    server.listen({ port, host: '::', backlog: 1024 }, resolve);
  });
}

function serve(socket: Socket, port: number): void {
  const [client = '', clientPort = 0] = [socket.remoteAddress, socket.remotePort];
  let pending = '';
  // Clients vanish in a lab that breaks things on purpose. The error needs no handling.
  socket.on('error', () => undefined);
  socket.on('data', (data: Buffer) => {
    pending += data.toString('latin1');
    if (pending.length > maximumLine) socket.destroy();
    const text = `${answer(client, clientPort, port)}\n`;
    if (pending.startsWith('GET ') && pending.includes('\r\n\r\n')) {
      socket.end(`HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${text.length}\r\nConnection: close\r\n\r\n${text}`);
      pending = '';
    } else if (!pending.startsWith('GET ')) {
      const lines = pending.split('\n');
      pending = lines.pop() ?? '';
      if (lines.length > 0) socket.write(text.repeat(lines.length));
    }
  });
}

async function listenUdp(type: 'udp4' | 'udp6', port: number): Promise<void> {
  const socket = createSocket({ type, ipv6Only: type === 'udp6' });
  socket.on('message', (_, from) => socket.send(answer(from.address, from.port, port), from.port, from.address));
  await new Promise<void>((resolve) => {
    socket.bind(port, resolve);
  });
}
