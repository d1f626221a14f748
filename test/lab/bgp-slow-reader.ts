/**
 * A busy router. It accepts a connection, reads the OPEN, sends its own, keeps sending keepalives and reads nothing else for a time. Then
 * it reads everything that has arrived. The first argument is its hold time, the second how long it does not read, both in seconds. Prints
 * "waits", "reads", the octets read so far each second, and "closed".
 */
import { createServer } from 'node:net';
import process from 'node:process';
import { localOpenMessage } from '../../src/bgp/negotiation/local-open.ts';
import { keepaliveMessage } from '../../src/bgp/wire/header.ts';
import { encodeOpen } from '../../src/bgp/wire/open.ts';

const [holdTime = 0, seconds = 0] = process.argv.slice(2).map(Number);
const open = localOpenMessage({ localAsn: 65001, peerAsn: 64512, routerId: 7, holdTime, families: [4, 6], overIpv6: false });
const say = (text: string): void => void process.stdout.write(`${text}\n`);

createServer((socket) => {
  let read = 0;
  let timer: NodeJS.Timeout | undefined;
  socket.once('data', () => {
    socket.pause();
    socket.write(encodeOpen(open));
    socket.write(keepaliveMessage);
    timer = setInterval(() => {
      socket.write(keepaliveMessage);
      say(`octets ${read}`);
    }, 1_000);
    say('waits');
    setTimeout(() => {
      say('reads');
      socket.on('data', (bytes) => (read += bytes.length));
      socket.resume();
    }, seconds * 1000);
  });
  socket.on('error', () => undefined);
  socket.on('close', () => {
    clearInterval(timer);
    say('closed');
  });
}).listen(179, '::');
