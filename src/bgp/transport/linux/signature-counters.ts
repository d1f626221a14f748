import { readFileSync } from 'node:fs';
import type { SignatureCounters } from '../transport.ts';

/** Of this thread's own network namespace: a process has one, but tests have several. */
const path = '/proc/thread-self/net/netstat';

export function readSignatureCounters(): SignatureCounters | undefined {
  try {
    return parseSignatureCounters(readFileSync(path, 'utf8'));
  } catch {
    return undefined;
  }
}

/** /proc/net/netstat: pairs of lines that begin alike, first the names, then the values. Undefined where the kernel has no TCP MD5. */
export function parseSignatureCounters(text: string): SignatureCounters | undefined {
  const [names = [], values = []] = text
    .split('\n')
    .filter((line) => line.startsWith('TcpExt:'))
    .map((line) => line.split(' '));
  const value = (name: string): number => Number(values[names.indexOf(name)] ?? Number.NaN);
  const counters = { missing: value('TCPMD5NotFound'), unexpected: value('TCPMD5Unexpected'), wrong: value('TCPMD5Failure') };
  return Object.values(counters).every(Number.isSafeInteger) ? counters : undefined;
}
