import { readFileSync } from 'node:fs';
import type { KernelDrops } from '../transport.ts';

/** Of this thread's own network namespace: a process has one, but tests have several. */
const path = '/proc/thread-self/net/netstat';

export function readKernelDrops(): KernelDrops | undefined {
  try {
    return parseKernelDrops(readFileSync(path, 'utf8'));
  } catch {
    return undefined;
  }
}

/** /proc/net/netstat: pairs of lines that begin alike, first the names, then the values. Undefined where the kernel does not count these. */
export function parseKernelDrops(text: string): KernelDrops | undefined {
  const [names = [], values = []] = text
    .split('\n')
    .filter((line) => line.startsWith('TcpExt:'))
    .map((line) => line.split(' '));
  const value = (name: string): number => Number(values[names.indexOf(name)] ?? Number.NaN);
  const drops = {
    missing: value('TCPMD5NotFound'),
    unexpected: value('TCPMD5Unexpected'),
    wrong: value('TCPMD5Failure'),
    belowMinimumTtl: value('TCPMinTTLDrop'),
  };
  return Object.values(drops).every(Number.isSafeInteger) ? drops : undefined;
}
