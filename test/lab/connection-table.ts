import { readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from './command.ts';
import { inNamespace } from './namespace.ts';

/** Longer than any test. */
const lifetimeSeconds = 3_000;

/** The limit of connections. The kernel has one value for all network namespaces, and only the first namespace can change it. */
const maximum = async (): Promise<number> => Number(await readFile('/proc/sys/net/netfilter/nf_conntrack_max', 'utf8'));

/** Adds flows to a network namespace until its kernel table has this share of its maximum. The kernel keeps them, also when it is full. */
export async function fillConnectionTable(namespace: string, share: number): Promise<void> {
  const inside = (argv: readonly string[], check = true) => run(inNamespace(namespace, argv), { check });
  const present = Number((await inside(['cat', '/proc/sys/net/netfilter/nf_conntrack_count'])).stdout);
  const flows = Array.from({ length: Math.ceil((await maximum()) * share) - present }, (_, index) => flow(present + index));
  const file = join(tmpdir(), `herald-flows-${namespace}`);
  await writeFile(file, flows.join(''));
  // A full table refuses the last flows.
  await inside(['conntrack', '-R', file], share < 1);
  await rm(file);
}

export async function emptyConnectionTable(namespace: string): Promise<void> {
  await run(inNamespace(namespace, ['conntrack', '-F']));
}

function flow(index: number): string {
  const client = `198.18.${(index >> 8) & 255}.${index & 255}`;
  const port = 1_000 + (index >> 16);
  const side = (name: string, source: string, destination: string, from: number, to: number): string =>
    `--${name}-src ${source} --${name}-dst ${destination} --${name}-port-src ${from} --${name}-port-dst ${to}`;
  const there = side('orig', client, '203.0.113.1', port, 53);
  const back = side('reply', '203.0.113.1', client, 53, port);
  return `-I -p udp --timeout ${lifetimeSeconds} ${there} ${back} -u SEEN_REPLY,ASSURED\n`;
}
