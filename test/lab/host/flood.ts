/**
 * Keeps connections open from several addresses to one port, until it is killed. Run as `node flood.ts PORT TARGET EACH ADDRESS...`.
 * Opens EACH connections from every address, and opens a closed one again after about a second. Of four connections, two send nothing, one
 * sends a part of a request, and one sends a request and then stays idle. Prints "attempted N" when each was tried once.
 */
import { connect } from 'node:net';
import process from 'node:process';

const [port = '', host = '', each = '', ...addresses] = process.argv.slice(2);
const texts = ['', '', 'GET /healthz HTTP/1.1\r\nHo', 'GET /healthz HTTP/1.1\r\nHost: flood\r\n\r\n'];
let attempted = 0;

function open(localAddress: string, kind: number, first: boolean): void {
  const socket = connect({ host, port: Number(port), localAddress });
  const tried = (): void => {
    if (first && ++attempted === Number(each) * addresses.length) process.stdout.write(`attempted ${attempted}\n`);
    first = false;
  };
  socket.once('connect', () => {
    tried();
    socket.write(texts[kind] ?? '');
  });
  socket.on('error', tried);
  socket.resume();
  socket.once('close', () => setTimeout(() => open(localAddress, kind, false), 500 + Math.random() * 1000));
}

for (let n = 0; n < Number(each); n++) for (const address of addresses) open(address, n % texts.length, true);
