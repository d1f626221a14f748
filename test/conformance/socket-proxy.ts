/** `node socket-proxy.ts SOCKET PORT` forwards connections from a Unix socket to that port of this network namespace. */
import { connect, createServer } from 'node:net';
import process from 'node:process';

const [socket, port] = process.argv.slice(2);
const server = createServer((client) => {
  const target = connect(Number(port), '127.0.0.1');
  for (const [one, other] of [
    [client, target],
    [target, client],
  ] as const) {
    one.pipe(other);
    one.on('error', () => other.destroy());
  }
});
server.listen(socket, () => process.stdout.write('open\n'));
