import { execFile, execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ConnectionSample } from '../../src/dataplane/conntrack/connection-sample.ts';
import { EndedConnections } from '../../src/dataplane/conntrack/ended-connections.ts';
import { readTimeouts, type Timeouts } from '../../src/dataplane/conntrack/flow-outcome.ts';
import { endedPerSecond } from '../../src/dataplane/conntrack/limits.ts';
import { formatAddress } from '../../src/net/address.ts';
import type { ObservedConnection } from '../../src/net/observed-connection.ts';
import { systemClock } from '../../src/system/clock.ts';
import { netfilterProtocol, openNetlink, type NetlinkSocket } from '../../src/system/netlink/socket.ts';
import { removeLeftovers } from './leftovers.ts';
import { ip, prepareNamespace } from './namespace.ts';
import { until } from './until.ts';

/**
 * A client, a node that translates, and a pod. At the pod, port 8080 answers, nobody listens on 8081, and a filter drops packets to 8082. Over UDP, 8083
 * answers and 8084 does not.
 */
const prefix = `hw-${process.pid}`;
const [client, node, pod] = [`${prefix}-c`, `${prefix}-n`, `${prefix}-p`];
const flood = join(import.meta.dirname, 'dataplane/syn-flood.ts');
const families = [4, 6] as const;
const service = { 4: '192.0.2.1', 6: 'fd99::1' } as const;
const endpoint = { 4: '10.82.0.2', 6: 'fd82::2' } as const;
const program = `const net = require('node:net'), dgram = require('node:dgram');
const tcp = (port) => new Promise((done) => net.createServer((socket) => socket.end()).listen({ port, host: '::', backlog: 500 }, done));
const udp = (type) => new Promise((done) => { const s = dgram.createSocket({ type, ipv6Only: type === 'udp6' }); s.on('message', (_, from) => s.send('ok', from.port, from.address)); s.bind(8083, done); });
Promise.all([tcp(8080), tcp(8082), udp('udp4'), udp('udp6')]).then(() => console.log('up'));`;
let server: ChildProcess | undefined;
let timeouts: Timeouts;

const inside = (namespace: string, words: readonly string[], input = ''): string =>
  execFileSync('ip', ['netns', 'exec', namespace, ...words], { encoding: 'utf8', input, stdio: ['pipe', 'pipe', 'ignore'] });

const readSetting = async (path: string): Promise<string> => inside(node, ['cat', `/proc/sys/${path}`]).trim();

function open(options: Parameters<typeof openNetlink>[0]): NetlinkSocket {
  const socket = openNetlink({ ...options, networkNamespace: `/run/netns/${node}` });
  if (socket === undefined) throw new Error('no FFI');
  return socket;
}

beforeAll(async () => {
  removeLeftovers('hw');
  for (const namespace of [client, node, pod]) {
    await ip([`netns add ${namespace}`]);
    await prepareNamespace(namespace, namespace === node);
  }
  for (const [other, near, subnet] of [
    [client, 'c', 81],
    [pod, 'p', 82],
  ] as const) {
    await ip([`link add eth0 netns ${other} type veth peer name ${near} netns ${node}`]);
    await ip([`addr add 10.${subnet}.0.1/24 dev ${near}`, `addr add fd${subnet}::1/64 dev ${near} nodad`, `link set ${near} up`], node);
    await ip([`addr add 10.${subnet}.0.2/24 dev eth0`, `addr add fd${subnet}::2/64 dev eth0 nodad`, 'link set eth0 up'], other);
    await ip([`route add default via 10.${subnet}.0.1`, `route add default via fd${subnet}::1`], other);
  }
  await ip(['route add 10.85.0.0/16 via 10.81.0.2'], node);
  const rules = families.map((family) => {
    const [kind, at] = family === 4 ? ['ip', endpoint[4]] : ['ip6', `[${endpoint[6]}]`];
    const ports = [80, 81, 82].map((port) => `${kind} daddr ${service[family]} tcp dport ${port} dnat to ${at}:${8_000 + port}`);
    const datagrams = [83, 84].map((port) => `${kind} daddr ${service[family]} udp dport ${port} dnat to ${at}:${8_000 + port}`);
    return `table ${kind} t { chain p { type nat hook prerouting priority -100; ${[...ports, ...datagrams].join('; ')}; }; }`;
  });
  inside(node, ['nft', '-f', '-'], rules.join('\n'));
  inside(
    pod,
    ['nft', '-f', '-'],
    'table inet t { chain i { type filter hook input priority 0; meta l4proto { tcp, udp } th dport { 8082, 8084 } drop; }; }',
  );
  server = spawn('ip', ['netns', 'exec', pod, process.execPath, '-e', program], { stdio: ['ignore', 'pipe', 'inherit'] });
  if (server.stdout !== null) await once(server.stdout, 'data');
});

afterAll(async () => {
  if (server?.kill('SIGKILL') === true) await once(server, 'exit');
  for (const namespace of [client, node, pod]) await ip([`netns del ${namespace}`]);
});

beforeEach(async () => {
  inside(node, ['conntrack', '-F']);
  timeouts = await readTimeouts(readSetting);
});

/** Opens connections and sends datagrams to these ports, over both families. */
async function send(ports: readonly number[], count = 1): Promise<void> {
  const script = `const net = require('node:net'), dgram = require('node:dgram');
    for (const [family, host] of ${JSON.stringify(families.map((each) => [each, service[each]]))}) for (const port of ${JSON.stringify(ports)}) for (let i = 0; i < ${count}; i++)
      if (port > 82) dgram.createSocket('udp' + family).send('hello', port, host); else net.connect({ port, host }).on('error', () => {}).resume();
    setTimeout(() => process.exit(), 400);`;
  await promisify(execFile)('ip', ['netns', 'exec', client, process.execPath, '-e', script]);
}

/** Returns "TCP 80 answered" for both families together. */
function summary(connections: readonly ObservedConnection[]): string[] {
  const seen = new Set<string>();
  for (const { destination, protocol, port, endpoint: at, endpointPort, outcome } of connections) {
    expect(formatAddress(destination)).toBe(service[destination.family]);
    expect(formatAddress(at)).toBe(endpoint[at.family]);
    expect(endpointPort).toBe(8_000 + port);
    seen.add(`${protocol} ${port} ${outcome} IPv${destination.family}`);
  }
  return [...seen].toSorted();
}

const both = (...kinds: readonly string[]): string[] =>
  kinds.flatMap((kind) => families.map((family) => `${kind} IPv${family}`)).toSorted();

async function look(sample: ConnectionSample): Promise<readonly ObservedConnection[]> {
  const socket = open({ protocol: netfilterProtocol });
  try {
    return (await sample.look(socket, timeouts)).connections;
  } finally {
    socket.close();
  }
}

describe('a look at the table', () => {
  test('tells new connections that were answered from those of unknown age', async () => {
    const sample = new ConnectionSample(systemClock);
    await send([80, 83]);
    expect(summary(await look(sample))).toEqual(both('TCP 80 used', 'UDP 83 used'));
    // They stay what they are, and new ones are seen beside them.
    await send([80, 83]);
    expect(summary(await look(sample))).toEqual(both('TCP 80 answered', 'TCP 80 used', 'UDP 83 answered', 'UDP 83 used'));
    expect(summary(await look(sample))).toEqual(both('TCP 80 used', 'UDP 83 used'));
  });

  test('sees TCP connections without an answer after two seconds, and never calls UDP silent', async () => {
    const sample = new ConnectionSample(systemClock);
    await send([82, 84], 3);
    const found = await until('they are silent', async () => {
      const connections = await look(sample);
      return connections.length > 0 && connections;
    });
    expect(summary(found)).toEqual(both('TCP 82 silent'));
    expect(found.every(({ at }) => systemClock.now() - at >= 2_000)).toBe(true);
    // Two of each pair are enough.
    expect(found).toHaveLength(4);
    expect(new Set(found.map(({ id }) => id)).size).toBe(4);
  });
});

describe('events about ended connections', () => {
  const seen: ObservedConnection[] = [];
  let ended: EndedConnections;

  beforeEach(() => {
    seen.length = 0;
    ended = new EndedConnections(systemClock, open, {
      timeouts: () => timeouts,
      ended: (connections) => seen.push(...connections),
      failed: (error) => {
        throw error;
      },
      spent: () => undefined,
    });
    ended.start();
  });

  afterEach(() => ended.stop());

  /** Waits until everything before is read. */
  const untilRefused = async (): Promise<string[]> => {
    await send([81]);
    return until('refused connections are reported', () => seen.filter(({ port }) => port === 81).length >= 2 && summary(seen));
  };

  test('report refused ones of both families, and no others', async () => {
    await send([80, 82, 83, 84]);
    expect(await untilRefused()).toEqual(both('TCP 81 refused'));
  });

  test('do not call a connection refused that came from another node and is reset, or that a program deletes', async () => {
    inside(client, [process.execPath, flood, '10.85.0.1', service[4], '80', '1', '0', '16']);
    await send([82]);
    inside(node, ['conntrack', '-D', '-p', 'tcp', '--dport', '82']);
    expect(await untilRefused()).toEqual(both('TCP 81 refused'));
  });

  test('report connections that waited in vain when the kernel forgets them', async () => {
    inside(node, ['sysctl', '-qw', 'net.netfilter.nf_conntrack_tcp_timeout_syn_sent=2']);
    try {
      timeouts = await readTimeouts(readSetting);
      await send([82]);
      const found = await until('they are reported', () => {
        // A list deletes entries whose time is over.
        inside(node, ['conntrack', '-L']);
        return seen.length >= 2 && summary(seen);
      });
      expect(found).toEqual(both('TCP 82 silent'));
    } finally {
      inside(node, ['sysctl', '-qw', 'net.netfilter.nf_conntrack_tcp_timeout_syn_sent=120']);
    }
  });

  test('are not asked for any more while very many connections are refused', async () => {
    const words = ['netns', 'exec', client, process.execPath, flood, '10.85.0.1', service[4], '81', '60000', '20000'];
    const { stdout } = await promisify(execFile)('ip', words);
    await sleep(1_500);
    const { seconds } = JSON.parse(stdout) as { seconds: number };
    const rate = 60_000 / seconds;
    // A machine that is too slow for more than the limit would prove nothing.
    expect(rate).toBeGreaterThan(2 * endedPerSecond);
    // Of a flood of seconds, it has read a second.
    expect(seen.length).toBeGreaterThan(0);
    expect(seen.length).toBeLessThan(6_000);
    const before = seen.length;
    await send([81]);
    await sleep(2_000);
    expect(seen).toHaveLength(before);
  });
});
