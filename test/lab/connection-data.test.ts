import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import process from 'node:process';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ConnectionSample } from '../../src/dataplane/conntrack/connection-sample.ts';
import { readTimeouts } from '../../src/dataplane/conntrack/flow-outcome.ts';
import type { ObservedConnection } from '../../src/net/observed-connection.ts';
import { systemClock } from '../../src/system/clock.ts';
import { netfilterProtocol, openNetlink } from '../../src/system/netlink/socket.ts';
import { removeLeftovers } from './leftovers.ts';
import { ip, prepareNamespace } from './namespace.ts';
import { until } from './until.ts';

/**
 * A client, a node that translates, and a pod. Its programs: 8080 answers with few octets, 8081 with many, 8082 takes data and closes with its client,
 * 8083 answers after seconds, and 8084 is stopped (SIGSTOP).
 */
const prefix = `hd-${process.pid}`;
const [client, node, pod] = [`${prefix}-c`, `${prefix}-n`, `${prefix}-p`];
const families = [4, 6] as const;
const service = { 4: '192.0.2.1', 6: 'fd99::1' } as const;
const endpoint = { 4: '10.84.0.2', 6: 'fd84::2' } as const;
const program = (
  ports: Readonly<Record<number, readonly [octets: number, milliseconds: number]>>,
): string => `const net = require('node:net');
const serve = ([port, [octets, wait]]) => new Promise((done) => net.createServer({ allowHalfOpen: true }, (socket) => socket
  .on('error', () => {}).on('data', () => setTimeout(() => socket.write(Buffer.alloc(octets)), wait)).on('end', () => setTimeout(() => socket.end(), wait))).listen({ port, host: '::' }, done));
Promise.all(Object.entries(${JSON.stringify(ports)}).map(serve)).then(() => console.log('up'));`;
const programs: ChildProcess[] = [];

const inside = (namespace: string, words: readonly string[], input = ''): string =>
  execFileSync('ip', ['netns', 'exec', namespace, ...words], { encoding: 'utf8', input, stdio: ['pipe', 'pipe', 'ignore'] });

async function start(text: string): Promise<ChildProcess> {
  const running = spawn('ip', ['netns', 'exec', pod, process.execPath, '-e', text], { stdio: ['ignore', 'pipe', 'inherit'] });
  programs.push(running);
  if (running.stdout !== null) await once(running.stdout, 'data');
  return running;
}

beforeAll(async () => {
  removeLeftovers('hd');
  for (const namespace of [client, node, pod]) {
    await ip([`netns add ${namespace}`]);
    await prepareNamespace(namespace, namespace === node);
  }
  for (const [other, near, subnet] of [
    [client, 'c', 83],
    [pod, 'p', 84],
  ] as const) {
    await ip([`link add eth0 netns ${other} type veth peer name ${near} netns ${node}`]);
    await ip([`addr add 10.${subnet}.0.1/24 dev ${near}`, `addr add fd${subnet}::1/64 dev ${near} nodad`, `link set ${near} up`], node);
    await ip([`addr add 10.${subnet}.0.2/24 dev eth0`, `addr add fd${subnet}::2/64 dev eth0 nodad`, 'link set eth0 up'], other);
    await ip([`route add default via 10.${subnet}.0.1`, `route add default via fd${subnet}::1`], other);
  }
  const rules = families.map((family) => {
    const [kind, at] = family === 4 ? ['ip', endpoint[4]] : ['ip6', `[${endpoint[6]}]`];
    const ports = [80, 81, 82, 83, 84].map((port) => `${kind} daddr ${service[family]} tcp dport ${port} dnat to ${at}:${8_000 + port}`);
    return `table ${kind} t { chain p { type nat hook prerouting priority -100; ${ports.join('; ')}; }; }`;
  });
  inside(node, ['nft', '-f', '-'], rules.join('\n'));
  await start(program({ 8080: [20, 0], 8081: [300_000, 0], 8082: [0, 0], 8083: [20, 4_000] }));
  (await start(program({ 8084: [20, 0] }))).kill('SIGSTOP');
});

afterAll(async () => {
  for (const running of programs) if (running.kill('SIGKILL')) await once(running, 'exit');
  for (const namespace of [client, node, pod]) await ip([`netns del ${namespace}`]);
});

beforeEach(() => {
  inside(node, ['conntrack', '-F']);
});

/** Sends a request to each port, twice, over both families, and ends the connections after a second. */
function request(ports: readonly number[]): void {
  const script = `const net = require('node:net');
    for (const host of ${JSON.stringify(Object.values(service))}) for (const port of ${JSON.stringify([...ports, ...ports])})
      { const socket = net.connect({ port, host }, () => socket.write('GET / HTTP/1.1\\r\\nHost: a\\r\\n\\r\\n')); socket.on('error', () => {}).resume(); setTimeout(() => socket.end(), 1000); }
    setTimeout(() => process.exit(), 1500);`;
  inside(client, [process.execPath, '-e', script]);
}

async function look(sample: ConnectionSample): Promise<readonly ObservedConnection[]> {
  const socket = openNetlink({ protocol: netfilterProtocol, networkNamespace: `/run/netns/${node}` });
  if (socket === undefined) throw new Error('no FFI');
  try {
    const timeouts = await readTimeouts(async (path) => inside(node, ['cat', `/proc/sys/${path}`]).trim());
    return (await sample.look(socket, timeouts)).connections;
  } finally {
    socket.close();
  }
}

const summary = (connections: readonly ObservedConnection[]): string[] =>
  [...new Set(connections.map(({ port, outcome, data, destination }) => `${port} ${outcome} ${data} IPv${destination.family}`))].toSorted();

const both = (...kinds: readonly string[]): string[] =>
  kinds.flatMap((kind) => families.map((family) => `${kind} IPv${family}`)).toSorted();

const untilSeen = (sample: ConnectionSample, wanted: RegExp): Promise<string[]> =>
  until(`a look shows ${wanted}`, async (note) => {
    const found = note(summary(await look(sample)));
    return families.every((family) => found.some((one) => wanted.test(one) && one.endsWith(`IPv${family}`))) && found;
  });

const count = (value: 0 | 1): string => inside(node, ['sysctl', '-w', `net.netfilter.nf_conntrack_acct=${value}`]);

describe('where the kernel counts packets', () => {
  test('a program that is stopped is unheard, and those that answer or only take data are not', async () => {
    count(1);
    const sample = new ConnectionSample(systemClock);
    await look(sample);
    request([80, 81, 82, 83, 84]);
    const found = await untilSeen(sample, /^84 unheard/);
    expect(found).toEqual(both('80 used some', '81 used large', '82 used none', '83 used some', '84 unheard none'));
  });

  test('data that a narrow link loses without a word is unacknowledged and large', async () => {
    count(1);
    const sample = new ConnectionSample(systemClock);
    await look(sample);
    inside(client, ['nft', 'table inet narrow { chain i { type filter hook input priority 0; meta length > 1300 drop; }; }']);
    try {
      request([80, 81]);
      expect(await untilSeen(sample, /^81 unacknowledged/)).toEqual(both('80 used some', '81 unacknowledged large'));
    } finally {
      inside(client, ['nft', 'delete table inet narrow']);
    }
  });
});

test('where the kernel does not count, data is unacknowledged, and nothing is unheard', async () => {
  count(0);
  const sample = new ConnectionSample(systemClock);
  await look(sample);
  inside(client, ['nft', 'table inet narrow { chain i { type filter hook input priority 0; meta length > 1300 drop; }; }']);
  try {
    request([80, 81, 82, 84]);
    const found = await untilSeen(sample, /^81 unacknowledged/);
    expect(found.filter((one) => one.startsWith('81'))).toEqual(both('81 unacknowledged undefined'));
    expect(found.filter((one) => one.includes('unheard'))).toEqual([]);
  } finally {
    inside(client, ['nft', 'delete table inet narrow']);
  }
});
