import { execFileSync } from 'node:child_process';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { addressBytes, addressFromBytes, address, formatAddress } from '../../src/net/address.ts';
import { loadLibc } from '../../src/system/ffi/libc.ts';
import { measureSize } from '../../src/system/probe/echo.ts';
import { findHops } from '../../src/system/probe/hops.ts';
import { connectByKernel } from '../../src/system/probe/kernel-connect.ts';
import { inNetworkNamespace } from '../kube-fixture/network-namespace.ts';
import { removeLeftovers } from './leftovers.ts';
import { ip, prepareNamespace } from './namespace.ts';

/** a - r1 - r2 - b. The probes go from a to b; both routers and b filter and limit what they are told to. */
const names = ['a', 'r1', 'r2', 'b'] as const;
type Machine = (typeof names)[number];
const namespaceOf = (machine: Machine): string => `hp-${process.pid}-${machine}`;
const families = [
  { family: 4, link: (n: number, end: number) => `10.7.${n}.${end}/24` },
  { family: 6, link: (n: number, end: number) => `fd07:${n}::${end}/64` },
] as const;
const target = { 4: '10.7.3.2', 6: 'fd07:3::2' } as const;
const port = 8080;

const nft = (machine: Machine, rules: string): string =>
  execFileSync('ip', ['netns', 'exec', namespaceOf(machine), 'nft', '-f', '-'], { input: rules, encoding: 'utf8' });
const flush = (machine: Machine): string => nft(machine, 'flush ruleset');
/** Neighbour discovery must go on. */
const filter = (hook: string, verdict: string): string =>
  `table inet t { chain c { type filter hook ${hook} priority 0; ${['meta l4proto tcp', 'icmp type echo-request', 'icmpv6 type echo-request'].map((match) => `${match} ${verdict};`).join(' ')} }; }`;

beforeAll(async () => {
  removeLeftovers('hp');
  for (const machine of names) {
    execFileSync('ip', ['netns', 'add', namespaceOf(machine)]);
    await prepareNamespace(namespaceOf(machine), machine !== 'a' && machine !== 'b');
  }
  for (const [index, left] of names.slice(0, -1).entries()) {
    const [n, right] = [index + 1, names[index + 1] ?? 'b'];
    await ip([`link add l${n}r netns ${namespaceOf(left)} type veth peer name l${n}l netns ${namespaceOf(right)}`]);
    for (const [machine, name, end] of [
      [left, `l${n}r`, 1],
      [right, `l${n}l`, 2],
    ] as const)
      await ip([...families.map(({ link }) => `addr add ${link(n, end)} dev ${name}`), `link set ${name} up`], namespaceOf(machine));
  }
  await ip(
    families.map(({ link }) => `route add default via ${link(1, 2).split('/')[0]}`),
    namespaceOf('a'),
  );
  await ip(
    families.map(({ link }) => `route add default via ${link(2, 2).split('/')[0]}`),
    namespaceOf('r1'),
  );
  await ip(
    families.map(({ link }) => `route add default via ${link(2, 1).split('/')[0]}`),
    namespaceOf('r2'),
  );
  await ip(
    families.map(({ link }) => `route add default via ${link(3, 1).split('/')[0]}`),
    namespaceOf('b'),
  );
});

/** A test that fails leaves its rules. */
afterEach(() => {
  for (const machine of names) flush(machine);
});

afterAll(() => {
  for (const machine of names) execFileSync('ip', ['netns', 'del', namespaceOf(machine)]);
});

const libc = loadLibc();
if (libc === undefined) throw new Error('koffi has no binary for this machine');
const context = { libc };
const fromA = <T>(act: () => T): T => inNetworkNamespace(namespaceOf('a'), act);
const textOf = (octets: Uint8Array): string => formatAddress(addressFromBytes(octets));

describe.each(families)('IPv$family', ({ family, link }) => {
  const there = addressBytes(address(target[family]));
  const hop = (n: number): string => formatAddress(address(link(n, 2).split('/')[0] ?? ''));
  const connect = () => fromA(() => connectByKernel({ protocol: 'TCP', address: there, port }, 500, context));
  const hops = async () =>
    (await fromA(() => findHops(there, port, { most: 5, timeout: 500 }, context))).map(({ ttl, from }) => `${ttl} ${textOf(from)}`);
  const size = (octets: number) => fromA(() => measureSize(there, octets, { attempts: 2, timeout: 500 }, context));

  test('a reset, an ICMP error and silence are told apart', async () => {
    expect(await connect()).toEqual({ result: 'refused', milliseconds: expect.any(Number) });
    nft('r2', filter('forward', 'reject with icmpx port-unreachable'));
    const refused = await connect();
    expect([refused.result, textOf(refused.icmp?.from ?? there)]).toEqual(['refused', hop(2)]);
    flush('r2');
    nft('r1', filter('forward', 'reject with icmpx admin-prohibited'));
    const prohibited = await connect();
    expect([prohibited.result, textOf(prohibited.icmp?.from ?? there)]).toEqual(['unreachable', hop(1)]);
    flush('r1');
    nft('b', filter('input', 'drop'));
    expect(await connect()).toEqual({ result: 'silent', milliseconds: expect.any(Number) });
    flush('b');
  });

  test('packets with a small TTL name the routers up to the one that drops', async () => {
    nft('b', filter('input', 'drop'));
    expect(await hops()).toEqual([`1 ${hop(1)}`, `2 ${hop(2)}`]);
    flush('b');
    nft('r2', filter('prerouting', 'drop'));
    expect(await hops()).toEqual([`1 ${hop(1)}`]);
    flush('r2');
    nft('a', filter('output', 'drop'));
    expect(await hops()).toEqual([]);
    flush('a');
  });

  test('large packets find a narrow hop that says so, one that does not, and none', async () => {
    expect(await size(1500)).toMatchObject({ result: 'answered', size: 1500 });
    await ip(['link set l3r mtu 1400'], namespaceOf('r2'));
    const told = await size(1500);
    expect(told).toMatchObject({ result: 'tooBig', mtu: 1400 });
    expect('from' in told && told.from !== undefined && textOf(told.from)).toBe(hop(2));
    expect(await size(1400)).toMatchObject({ result: 'answered' });
    nft(
      'r2',
      'table inet t { chain c { type filter hook output priority 0; icmp type destination-unreachable drop; icmpv6 type packet-too-big drop; }; }',
    );
    expect(await size(1500)).toEqual({ result: 'lost', size: 1500 });
    nft('b', filter('input', 'drop'));
    expect(await size(1500)).toEqual({ result: 'unknown', size: 1500 });
    for (const machine of ['r2', 'b'] as const) flush(machine);
    await ip(['link set l3r mtu 1500'], namespaceOf('r2'));
    await ip(['link set l1r mtu 1480'], namespaceOf('a'));
    expect(await size(1500)).toEqual({ result: 'tooBig', size: 1500, mtu: 0 });
    await ip(['link set l1r mtu 1500'], namespaceOf('a'));
  });
});

test('SCTP says that this kernel has none, or is refused', async () => {
  const there = addressBytes(address(target[4]));
  const probe = await fromA(() => connectByKernel({ protocol: 'SCTP', address: there, port }, 500, context));
  expect(probe.result === 'notSent' ? 'error' in probe && probe.error : probe.result).toMatch(/^(EPROTONOSUPPORT|refused)$/);
});
