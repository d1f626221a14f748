import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { KernelAnswersCheck } from '../../../src/agent/l2/kernel-answers-check.ts';
import { findHostPaths } from '../../../src/dataplane/host/host-paths.ts';
import { readHostLinks } from '../../../src/dataplane/host/host-links.ts';
import { readNeighborProxies } from '../../../src/dataplane/host/neighbor-proxies.ts';
import { requiredSettings } from '../../../src/decisions/host/required-settings.ts';
import { eligibleLinks } from '../../../src/decisions/l2/eligible-links.ts';
import { decodeFrame } from '../../../src/l2/wire/frame.ts';
import { formatMac } from '../../../src/l2/wire/mac.ts';
import { reasonText } from '../../../src/model/reasons.ts';
import { address as parse, formatAddress } from '../../../src/net/address.ts';
import { silentLog } from '../../../src/system/log.ts';
import { systemClock } from '../../../src/system/clock.ts';
import { inNetworkNamespace } from '../../kube-fixture/network-namespace.ts';
import { run } from '../../peers/link.ts';
import { mac, solicitation } from '../../../src/l2/test/frames.ts';
import { until } from '../until.ts';
import { L2Process, Segment } from './segment.ts';

/** Host 0 owns the addresses. Host 1 is another node, whose kernel may answer. Host 2 is a client that asks with the tools of Debian. */
const vip = '10.77.1.1';
const vip6 = 'fd77::1:1';
let segment: Segment;
let owner: L2Process;

const onOther = (...words: readonly string[]): string => run('ip', 'netns', 'exec', segment.host(1), ...words);
const sysctl = (...settings: readonly string[]): string => onOther('sysctl', '-qw', ...settings);

beforeAll(async () => {
  segment = new Segment(3);
  owner = new L2Process(segment.host(0));
  await owner.set({
    node: 'n0',
    links: [segment.linkOf(0, [1])],
    addresses: [vip, vip6].map((address) => ({ address, interface: 'v0', candidates: ['n0'], everHeld: true })),
  });
  await until(
    'the addresses are held',
    async (note) => note(await owner.stateOf(vip)) === 'owner' && (await owner.stateOf(vip6)) === 'owner',
  );
  run('ip', '-n', segment.host(1), 'link', 'add', 'other', 'type', 'veth', 'peer', 'name', 'far');
  for (const name of ['other', 'far']) run('ip', '-n', segment.host(1), 'link', 'set', name, 'up');
  run('ip', '-n', segment.host(1), 'link', 'set', 'lo', 'up');
});

beforeEach(() => {
  sysctl('net.ipv4.conf.all.arp_ignore=0', 'net.ipv4.conf.v0.proxy_arp=0', 'net.ipv4.ip_forward=1', 'net.ipv6.conf.all.forwarding=1');
});

afterAll(async () => {
  await owner?.kill();
  segment?.close();
});

/** The MAC addresses that answer the client, of the owner first. ndisc6 ignores the answers of a proxy, so those to a solicitation are read. */
function answering(address: string): string[] {
  const macs = new Set(address.includes(':') ? solicited(address) : arpinged(address));
  return [segment.macOf(0), segment.macOf(1)].filter((mac) => macs.has(mac));
}

function arpinged(address: string): string[] {
  return segment.run(2, 'arping', '-c', '2', '-w', '3', '-i', 'v0', address).match(/\b(?:[\da-f]{2}:){5}[\da-f]{2}\b/gi) ?? [];
}

/** A proxy waits for up to 800 ms before it answers. */
function solicited(address: string): string[] {
  const etherSource = mac(segment.macOf(2));
  const question = solicitation({ etherSource, sourceLink: etherSource, source: parse('fd77::12'), target: parse(address) });
  return segment.exchange(2, [question], 1500).flatMap((octets) => {
    const frame = decodeFrame(octets);
    if (typeof frame === 'string' || frame.kind !== 'advertisement') return [];
    return formatAddress(frame.target) === address ? [formatMac(frame.targetLink ?? frame.etherSource)] : [];
  });
}

/** What the agent of host 1 reports. Reading happens in the host's namespace. */
async function reported(): Promise<string[]> {
  const place = `/run/netns/${segment.host(1)}`;
  const links = await readHostLinks(systemClock, place);
  const check = new KernelAnswersCheck(
    {
      host: { readSetting: async (path) => inNetworkNamespace(segment.host(1), () => readSetting(path)) },
      hostLinks: async () => links,
      neighborProxies: () => readNeighborProxies(systemClock, place),
      hostPaths: (targets) => findHostPaths(targets, systemClock, place),
      clock: systemClock,
      log: silentLog,
    },
    {
      node: 'n1',
      links: () => eligibleLinks(links, new Set(), []),
      addresses: () => [vip, vip6],
      interfacesOf: () => [],
      interfaces: () => [],
      onInterfacesChanged: () => undefined,
      servicesAt: () => ['shop/web'],
      onStatusChanged: () => undefined,
    },
  );
  await check.check();
  check.stop();
  return check.differences().map(({ reason }) => reasonText(reason));
}

function readSetting(path: string): string | undefined {
  try {
    return readFileSync(`/proc/sys/${path}`, 'utf8').trim();
  } catch {
    return undefined;
  }
}

interface Case {
  readonly address: string;
  /** Commands that make the kernel answer, and those that undo it. */
  readonly make: readonly string[];
  readonly undo: readonly string[];
  readonly because: string;
}

const cases: readonly (readonly [string, Case])[] = [
  [
    'L2-24 the address is on lo',
    {
      address: vip,
      make: [`ip address add ${vip}/32 dev lo`],
      undo: [`ip address del ${vip}/32 dev lo`],
      because: 'the address is on lo, and arp_ignore of v0 is 0',
    },
  ],
  [
    'L2-24 the address is on kube-ipvs0, as kube-proxy sets it',
    {
      address: vip,
      make: ['ip link add kube-ipvs0 type bridge', `ip address add ${vip}/32 dev kube-ipvs0`],
      undo: ['ip link del kube-ipvs0'],
      because: 'the address is on kube-ipvs0, and arp_ignore of v0 is 0',
    },
  ],
  [
    'L2-24 the address is on the interface itself',
    {
      address: vip,
      make: ['sysctl -qw net.ipv4.conf.all.arp_ignore=1', `ip address add ${vip}/32 dev v0`],
      undo: [`ip address del ${vip}/32 dev v0`],
      because: 'the address is on v0',
    },
  ],
  [
    'L2-24 proxy_arp is on, and the route leaves by another link',
    {
      address: vip,
      make: ['sysctl -qw net.ipv4.conf.v0.proxy_arp=1', `ip route add ${vip}/32 dev other`],
      undo: [`ip route del ${vip}/32 dev other`],
      because: 'net.ipv4.conf.v0.proxy_arp is 1, and its route leaves by other',
    },
  ],
  [
    'L2-24 an ARP proxy entry exists, and the route leaves by another link',
    {
      address: vip,
      make: [`ip neighbor add proxy ${vip} dev v0`, `ip route add ${vip}/32 dev other`],
      undo: [`ip neighbor del proxy ${vip} dev v0`, `ip route del ${vip}/32 dev other`],
      because: 'v0 has a proxy entry for it (ip neighbor show proxy), and its route leaves by other',
    },
  ],
  [
    'L2-24 the IPv6 address is on the interface itself',
    {
      address: vip6,
      make: [`ip address add ${vip6}/128 dev v0 nodad`],
      undo: [`ip address del ${vip6}/128 dev v0`],
      because: 'the address is on v0',
    },
  ],
  [
    'L2-24 an NDP proxy entry exists',
    {
      address: vip6,
      make: ['sysctl -qw net.ipv6.conf.v0.proxy_ndp=1', `ip neighbor add proxy ${vip6} dev v0`],
      undo: [`ip neighbor del proxy ${vip6} dev v0`, 'sysctl -qw net.ipv6.conf.v0.proxy_ndp=0'],
      because: 'v0 has a proxy entry for it (ip neighbor show proxy), and proxy_ndp is 1',
    },
  ],
];

test.each(cases)('%s: the kernel answers, and the node reports why', async (_, { address, make, undo, because }) => {
  expect(answering(address)).toEqual([segment.macOf(0)]);
  expect(await reported()).toEqual([]);
  for (const command of make) onOther(...command.split(' '));
  try {
    await until('two MAC addresses answer', async (note) => note(answering(address)).length === 2);
    expect(await reported()).toEqual([`the kernel of node "n1" answers for ${address} by itself: ${because}`]);
  } finally {
    for (const command of undo) onOther(...command.split(' '));
  }
});

test.each<readonly [string, Pick<Case, 'address' | 'make' | 'undo'>]>([
  [
    'the address is on lo, and arp_ignore is 1',
    {
      address: vip,
      make: ['sysctl -qw net.ipv4.conf.all.arp_ignore=1', `ip address add ${vip}/32 dev lo`],
      undo: [`ip address del ${vip}/32 dev lo`],
    },
  ],
  ['proxy_arp is on, and the route leaves by the same link', { address: vip, make: ['sysctl -qw net.ipv4.conf.v0.proxy_arp=1'], undo: [] }],
  [
    'an ARP proxy entry exists, and the route leaves by the same link',
    { address: vip, make: [`ip neighbor add proxy ${vip} dev v0`], undo: [`ip neighbor del proxy ${vip} dev v0`] },
  ],
  ['an IPv6 address is on lo', { address: vip6, make: [`ip address add ${vip6}/128 dev lo`], undo: [`ip address del ${vip6}/128 dev lo`] }],
  [
    'an NDP proxy entry exists, and proxy_ndp is off',
    { address: vip6, make: [`ip neighbor add proxy ${vip6} dev v0`], undo: [`ip neighbor del proxy ${vip6} dev v0`] },
  ],
])('L2-24 the kernel does not answer, and the node reports nothing, when %s', async (_, { address, make, undo }) => {
  for (const command of make) onOther(...command.split(' '));
  try {
    expect(answering(address)).toEqual([segment.macOf(0)]);
    expect(await reported()).toEqual([]);
  } finally {
    for (const command of undo) onOther(...command.split(' '));
  }
});

/** Redirects that the kernel of host 1 sends while a client sends packets for the address to its MAC address. */
function redirectsSent(): number {
  const count = (): number => Number(/OutRedirects\s+(\d+)/.exec(onOther('nstat', '-asz', 'IcmpOutRedirects'))?.[1] ?? 0);
  run('ip', '-n', segment.host(2), 'neighbor', 'replace', vip, 'lladdr', segment.macOf(1), 'dev', 'v0', 'nud', 'permanent');
  const before = count();
  segment.run(2, 'bash', '-c', `for i in 1 2; do echo > /dev/udp/${vip}/9; sleep 0.3; done`);
  run('ip', '-n', segment.host(2), 'neighbor', 'del', vip, 'dev', 'v0');
  return count() - before;
}

test('L2-26 the kernel sends redirects to the address until both settings are off, as the agent requires', () => {
  const redirects = requiredSettings({
    families: [],
    interfaces: [],
    advertisedDefault: [],
    peerInterfaces: [],
    podPrefixes: [],
    linkInterfaces: ['v0'],
    cores: 1,
  }).filter(({ path }) => path.endsWith('send_redirects'));
  expect(redirects.map(({ path, mayBeSet }) => [path, mayBeSet])).toEqual([
    ['net/ipv4/conf/all/send_redirects', true],
    ['net/ipv4/conf/v0/send_redirects', true],
  ]);
  const set = (values: Readonly<Record<string, string>>): void => {
    for (const [path, value] of Object.entries(values)) sysctl(`${path.replaceAll('/', '.')}=${value}`);
  };
  const [all = '', own = ''] = redirects.map(({ path }) => path);
  for (const values of [
    { [all]: '1', [own]: '1' },
    { [all]: '0', [own]: '1' },
    { [all]: '1', [own]: '0' },
  ]) {
    set(values);
    expect(redirectsSent()).toBeGreaterThan(0);
  }
  set(Object.fromEntries(redirects.map(({ path, wanted }) => [path, wanted])));
  expect(redirectsSent()).toBe(0);
});
