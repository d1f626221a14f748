import { execFileSync } from 'node:child_process';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { followHostLinks } from '../../../src/dataplane/host/link-events.ts';
import { readHostLinks } from '../../../src/dataplane/host/host-links.ts';
import { eligibleLinks, whyNotEligible } from '../../../src/decisions/l2/eligible-links.ts';
import { address, formatAddress } from '../../../src/net/address.ts';
import type { HostLink } from '../../../src/net/host-link.ts';
import { formatPrefix } from '../../../src/net/prefix.ts';
import { systemClock } from '../../../src/system/clock.ts';
import { until } from '../until.ts';

/** A namespace with one interface of each kind that this kernel has, and another one that holds the far end of a pod's cable. */
const names = { host: `hl-${process.pid}-host`, pod: `hl-${process.pid}-pod` } as const;
const ip = (...words: string[]): string => execFileSync('ip', words, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
const onHost = (...words: string[]): string => ip('-n', names.host, ...words);

let links: ReadonlyMap<string, HostLink>;

beforeAll(async () => {
  for (const name of Object.values(names)) ip('netns', 'add', name);
  onHost('link', 'add', 'eth0', 'type', 'veth', 'peer', 'name', 'far0');
  onHost('link', 'add', 'eth1', 'type', 'veth', 'peer', 'name', 'far1');
  onHost('link', 'add', 'br0', 'type', 'bridge');
  onHost('link', 'set', 'eth1', 'master', 'br0');
  onHost('link', 'add', 'cni0', 'type', 'bridge');
  onHost('link', 'add', 'pod1', 'type', 'veth', 'peer', 'name', 'eth1', 'netns', names.pod);
  onHost('link', 'set', 'pod1', 'master', 'cni0');
  ip('-n', names.pod, 'link', 'set', 'eth1', 'up');
  onHost('address', 'add', '10.244.1.1/24', 'dev', 'cni0');
  onHost('link', 'add', 'link', 'eth0', 'name', 'mac0', 'type', 'macvlan', 'mode', 'bridge');
  onHost('link', 'add', 'pod0', 'type', 'veth', 'peer', 'name', 'eth0', 'netns', names.pod);
  onHost('link', 'add', 'quiet', 'type', 'veth', 'peer', 'name', 'far2');
  onHost('link', 'set', 'quiet', 'arp', 'off');
  for (const name of ['lo', 'eth0', 'far0', 'eth1', 'far1', 'br0', 'mac0', 'pod0', 'pod1', 'cni0', 'quiet', 'far2'])
    onHost('link', 'set', name, 'up');
  ip('-n', names.pod, 'link', 'set', 'eth0', 'up');
  onHost('link', 'set', 'far2', 'down');
  onHost('address', 'add', '192.0.2.1/24', 'dev', 'br0');
  onHost('address', 'add', '2001:db8::1/64', 'dev', 'br0', 'nodad');
  onHost('address', 'add', '198.51.100.1/32', 'dev', 'eth0');
  onHost('address', 'add', '10.0.0.1', 'peer', '10.0.0.2/32', 'dev', 'mac0');
  links = new Map((await readHostLinks(systemClock, `/run/netns/${names.host}`)).map((link) => [link.name, link]));
});

afterAll(() => {
  for (const name of Object.values(names)) ip('netns', 'delete', name);
});

test('the list has every interface that ip shows, with its link-layer address and flags', () => {
  const shown = JSON.parse(onHost('-j', 'link', 'show')) as readonly {
    ifname: string;
    address?: string;
    flags: readonly string[];
    link_type: string;
  }[];
  expect([...links.keys()]).toEqual(shown.map(({ ifname }) => ifname).toSorted());
  for (const { ifname, address, flags } of shown) {
    const { linkAddress, up, carrier, noArp, loopback } = links.get(ifname) ?? {};
    expect({ ifname, linkAddress, up, carrier, noArp, loopback }).toEqual({
      ifname,
      linkAddress: address,
      up: flags.includes('UP'),
      carrier: flags.includes('LOWER_UP'),
      noArp: flags.includes('NOARP'),
      loopback: flags.includes('LOOPBACK'),
    });
  }
});

test('kinds, masters, cables to pods and addresses are those of the kernel', () => {
  expect([...links].map(([name, { kind }]) => `${name} ${kind ?? '-'}`)).toEqual(
    expect.arrayContaining(['br0 bridge', 'eth0 veth', 'lo -', 'mac0 macvlan']),
  );
  expect(links.get('eth1')?.master).toBe('br0');
  expect([...links].filter(([, { leadsElsewhere }]) => leadsElsewhere).map(([name]) => name)).toEqual(['pod0', 'pod1']);
  const networks = (name: string): string[] =>
    (links.get(name)?.addresses ?? []).flatMap(({ address, network }) =>
      formatAddress(address).startsWith('fe80') ? [] : [`${formatAddress(address)} ${network === undefined ? '-' : formatPrefix(network)}`],
    );
  expect(networks('br0')).toEqual(['192.0.2.1 192.0.2.0/24', '2001:db8::1 2001:db8::/64']);
  expect(networks('eth0')).toEqual(['198.51.100.1 -']);
  expect(networks('mac0')).toEqual(['10.0.0.1 -']);
});

test('L2-28 nothing is announced on loopback, ports, pods, links without ARP and links that are down', () => {
  const why = Object.fromEntries(
    [...links].map(([name, link]) => [name, whyNotEligible(link, [...links.values()], new Set()) ?? 'eligible']),
  );
  expect(why).toMatchObject({
    lo: 'a loopback interface',
    eth1: 'a port of br0: name br0 instead',
    pod0: 'the cable to a pod',
    quiet: 'without ARP',
    far2: 'down',
    br0: 'eligible',
    cni0: 'a bridge that connects only pods or virtual machines of this host',
    mac0: 'eligible',
  });
  const eligible = eligibleLinks([...links.values()], new Set(['pod0']), []);
  expect(eligible.map(({ name }) => name)).toEqual(expect.arrayContaining(['br0', 'eth0', 'mac0', 'pod0']));
  expect(
    eligible
      .find(({ name }) => name === 'br0')
      ?.addresses.map(formatAddress)
      .at(-1),
  ).toMatch(/^fe80/);
});

test('L2-28 a bridge of pods is eligible when an advertisement names it or the Node has its address', () => {
  const names = (wanted: string[], own: string[]): string[] =>
    eligibleLinks([...links.values()], new Set(wanted), own.map(address)).map(({ name }) => name);
  expect(names([], ['192.0.2.1'])).not.toContain('cni0');
  expect(names(['cni0'], [])).toContain('cni0');
  expect(names([], ['10.244.1.1'])).toContain('cni0');
});

test('L2-9 the kernel reports a new address, a lost carrier and a new interface at once', async () => {
  let reports = 0;
  const unfollow = followHostLinks(systemClock, () => void reports++, `/run/netns/${names.host}`);
  try {
    for (const change of [
      ['address', 'add', '203.0.113.1/24', 'dev', 'mac0'],
      ['address', 'add', '2001:db8:1::1/64', 'dev', 'mac0', 'nodad'],
      ['link', 'set', 'far1', 'down'],
      ['link', 'add', 'late0', 'type', 'bridge'],
    ]) {
      const before = reports;
      onHost(...change);
      await until(change.join(' '), () => reports > before);
    }
  } finally {
    unfollow();
  }
});

test('L2-28 an interface without carrier is not eligible', async () => {
  onHost('link', 'set', 'far0', 'down');
  const eth0 = (await readHostLinks(systemClock, `/run/netns/${names.host}`)).find(({ name }) => name === 'eth0');
  expect(eth0 === undefined ? '' : whyNotEligible(eth0, [eth0], new Set())).toBe('without carrier');
});
