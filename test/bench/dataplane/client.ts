import { execFile, spawn } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { quantile } from '../bgp/statistics.ts';
import { namespaceOf } from '../../lab/dataplane/one-node.ts';

const run = promisify(execFile);
const program = join(import.meta.dirname, 'connect-client.mjs');

/** TCP connections one after the other; microseconds. */
export interface ConnectTimes {
  readonly median: number;
  readonly p99: number;
  readonly perSecond: number;
}

export async function connectTimes(address: string, port: number, count: number): Promise<ConnectTimes> {
  const sorted = JSON.parse(await inClient('many', address, port, String(count))) as number[];
  const sum = sorted.reduce((total, each) => total + each, 0);
  return { median: quantile(sorted, 0.5), p99: quantile(sorted, 0.99), perSecond: (sorted.length / sum) * 1e6 };
}

/** Asks until it is answered by this machine. */
export interface Question {
  /** It has asked for the first time. */
  readonly asked: Promise<void>;
  /** The time of day of the answer, in milliseconds. */
  readonly answered: Promise<number>;
}

export function askUntil(address: string, port: number, machine: string): Question {
  const child = spawn('ip', words('until', address, port, machine), { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const asked = new Promise<void>((resolve) => child.stdout.once('data', () => resolve()));
  return { asked, answered: ended.then(() => Number(output.split('\n')[1])) };
}

async function inClient(mode: string, address: string, port: number, argument: string): Promise<string> {
  return (await run('ip', words(mode, address, port, argument), { maxBuffer: 1 << 26 })).stdout;
}

function words(mode: string, address: string, port: number, argument: string): string[] {
  return ['netns', 'exec', namespaceOf('client'), process.execPath, program, mode, address, String(port), argument];
}
