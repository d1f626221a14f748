/**
 * Many TCP connections that ask a pod repeatedly as long as they get answers. Run as `node steady-connections.ts COUNT INTERVAL_MS PORT
 * ADDRESS...` in the client's namespace. It opens COUNT connections to each address, prints a line of JSON every half second (see
 * SteadyReport), and ends by SIGTERM.
 */
import { connect } from 'node:net';
import process from 'node:process';
import type { SteadyReport } from './steady-report.ts';

const [count = '', interval = '', port = '', ...addresses] = process.argv.slice(2);
const intervalMs = Number(interval);
const report = { open: 0, answered: 0, slowestMs: 0, broken: {} as Record<string, number> };
/** The time of the request that each connection waits for, by connection. */
const waiting = new Map<number, number>();
let last = 0;

for (const address of addresses) for (let one = 0; one < Number(count); one++) open(address);

setInterval(() => {
  const now = performance.now();
  const oldest = Math.min(now, ...waiting.values());
  const seen: SteadyReport = { ...report, slowestMs: Math.round(Math.max(report.slowestMs, now - oldest)) };
  process.stdout.write(`${JSON.stringify(seen)}\n`);
}, 500);

function open(address: string): void {
  const id = ++last;
  const socket = connect({ host: address, port: Number(port), noDelay: true });
  const ask = (): void => {
    waiting.set(id, performance.now());
    socket.write('hello\n');
  };
  let timer: NodeJS.Timeout | undefined;
  let isOpen = false;
  let isOver = false;
  const broken = (why: string): void => {
    if (isOver) return;
    isOver = true;
    clearTimeout(timer);
    waiting.delete(id);
    if (isOpen) report.open--;
    report.broken[why] = (report.broken[why] ?? 0) + 1;
  };
  socket.on('connect', () => {
    isOpen = true;
    report.open++;
    ask();
  });
  socket.on('data', () => {
    const asked = waiting.get(id);
    if (asked === undefined) return;
    waiting.delete(id);
    report.answered++;
    report.slowestMs = Math.max(report.slowestMs, performance.now() - asked);
    timer = setTimeout(ask, intervalMs);
  });
  socket.on('error', (error: NodeJS.ErrnoException) => broken(error.code ?? error.message));
  socket.on('close', () => broken('closed'));
}
