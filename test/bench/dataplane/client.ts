import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { quantile } from '../runner/statistics.ts';
import { namespaceOf } from '../../lab/dataplane/one-node.ts';

const run = promisify(execFile);
const program = join(import.meta.dirname, 'connect-client.mjs');

/** Figures for TCP connections opened one after the other, in microseconds. */
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

/** Resolves when the named machine answers a connection to the address. */
export async function answered(address: string, port: number, machine: string): Promise<void> {
  await inClient('until', address, port, machine);
}

async function inClient(mode: string, address: string, port: number, argument: string): Promise<string> {
  return (await run('ip', words(mode, address, port, argument), { maxBuffer: 1 << 26 })).stdout;
}

function words(mode: string, address: string, port: number, argument: string): string[] {
  return ['netns', 'exec', namespaceOf('client'), process.execPath, program, mode, address, String(port), argument];
}
