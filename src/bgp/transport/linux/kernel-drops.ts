import { readFileSync } from 'node:fs';
import type { KernelDrops } from '../transport.ts';

/** The path for the network namespace of this thread. Tests use several namespaces in one process. */
const path = '/proc/thread-self/net/netstat';

export function readKernelDrops(): KernelDrops | undefined {
  try {
    return parseKernelDrops(readFileSync(path, 'utf8'));
  } catch {
    return undefined;
  }
}

/**
 * Parses /proc/net/netstat, which has pairs of lines with the same prefix: first the names, then the values. Returns undefined if the
 * kernel does not count these drops.
 */
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
