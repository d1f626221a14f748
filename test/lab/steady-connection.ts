/**
 * One TCP connection that asks a pod every 50 ms as long as it gets answers. Run as `node steady-connection.ts ADDRESS PORT` in the
 * client's namespace. Prints "answered" for each answer, and "broken: WHY" when the connection ends.
 */
import { connect } from 'node:net';
import process from 'node:process';

const [host = '', port = ''] = process.argv.slice(2);
const socket = connect({ host, port: Number(port), noDelay: true });
const timer = setInterval(() => socket.write('hello\n'), 50);
socket.on('data', () => void process.stdout.write('answered\n'));
const broken = (why: string): void => {
  clearInterval(timer);
  process.stdout.write(`broken: ${why}\n`);
};
socket.on('error', (error) => broken(error.message));
socket.on('close', () => broken('closed'));
