/**
 * Asks a URL ten times a second, each time by a new connection, as the kubelet and load balancers do. Run as `node prober.ts URL COUNT
 * [ADDRESS]`, with the address to ask from. Prints the number of answers and the slowest as JSON.
 */
import { get } from 'node:http';
import process from 'node:process';

const [url = '', count = '', localAddress] = process.argv.slice(2);
const milliseconds: number[] = [];
const failures: string[] = [];
let ended = 0;

function probe(): void {
  const began = performance.now();
  const end = (failure?: string): void => {
    if (failure === undefined) milliseconds.push(performance.now() - began);
    else failures.push(`${failure} after ${Math.round(performance.now() - began)} ms`);
    if (++ended < Number(count)) return;
    process.stdout.write(`${JSON.stringify({ answers: milliseconds.length, slowest: Math.round(Math.max(...milliseconds)), failures })}\n`);
  };
  const request = get(url, { agent: false, timeout: 80_000, ...(localAddress === undefined ? {} : { localAddress }) }, (response) =>
    response.resume().once('end', () => end()),
  );
  request.once('timeout', () => request.destroy(new Error('no answer')));
  request.once('error', ({ message }) => end(message));
}

for (let n = 0; n < Number(count); n++) setTimeout(probe, n * 100);
