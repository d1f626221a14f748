import { expect, test } from 'vitest';
import { KernelAnswersCheck } from '../../../../src/agent/l2/kernel-answers-check.ts';
import { limits } from '../../../../src/agent/limits.ts';
import type { NodeLink } from '../../../../src/model/objects/node-state.ts';
import { address } from '../../../../src/net/address.ts';
import type { HostLink, NeighborProxy } from '../../../../src/net/host-link.ts';
import { prefix } from '../../../../src/net/prefix.ts';
import { silentLog } from '../../../../src/system/log.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';

const vip = '192.0.2.100';
const eth0: NodeLink = { name: 'eth0', linkAddress: '02:00:00:00:00:01', networks: [prefix('192.0.2.0/24')], addresses: [] };

const link = (name: string, ...addresses: readonly string[]): HostLink => ({
  name,
  up: true,
  carrier: true,
  noArp: false,
  loopback: name === 'lo',
  leadsElsewhere: false,
  addresses: addresses.map((text) => ({ address: address(text) })),
});

/** A node with the link eth0 and other links. */
function node(...others: readonly HostLink[]) {
  const clock = new VirtualClock();
  const host = {
    links: [link('eth0', '192.0.2.1'), ...others],
    proxies: [] as readonly NeighborProxy[],
    settings: { 'net/ipv4/conf/all/arp_ignore': '0', 'net/ipv4/conf/eth0/forwarding': '1' } as Readonly<Record<string, string>>,
    outgoing: 'eth0',
    nodeLinks: [eth0] as readonly NodeLink[] | undefined,
    own: [] as readonly string[],
    reports: 0,
    settingsChecked: 0,
    pathsAsked: 0,
  };
  const check = new KernelAnswersCheck(
    {
      host: { readSetting: async (path) => host.settings[path] },
      hostLinks: async () => host.links,
      neighborProxies: async () => host.proxies,
      hostPaths: async (targets) => {
        host.pathsAsked++;
        return targets.map(() => ({ interface: host.outgoing, mtu: 1500 }));
      },
      clock,
      log: silentLog,
    },
    {
      node: 'n1',
      links: () => host.nodeLinks,
      addresses: () => [vip],
      interfacesOf: () => host.own,
      interfaces: () => host.own,
      onInterfacesChanged: () => void host.settingsChecked++,
      servicesAt: () => ['shop/web', 'shop/api'],
      onStatusChanged: () => void host.reports++,
    },
  );
  const codes = (): string[] => check.differences().map(({ service, aspect, reason: { code } }) => `${service} ${aspect} ${code}`);
  return { clock, host, check, codes };
}

const both = ['shop/web Announced L2KernelAnswers', 'shop/api Announced L2KernelAnswers'];

test('an address on lo is reported for every Service of the address, also by a node that is no candidate', async () => {
  const { check, codes, host } = node(link('lo', vip));
  await check.check();
  expect(codes()).toEqual(both);
  expect(host.reports).toBe(1);
});

test('the check is repeated, and reports only what has changed', async () => {
  const { check, codes, host, clock } = node();
  await check.check();
  expect([codes(), host.reports]).toEqual([[], 0]);
  host.links = [...host.links, link('kube-ipvs0', vip)];
  for (let times = 0; times < 3; times++) {
    clock.advance(limits.linkCheckMilliseconds);
    await new Promise(setImmediate);
  }
  expect([codes(), host.reports]).toEqual([both, 1]);
  host.links = [link('eth0', '192.0.2.1')];
  await check.check();
  expect([codes(), host.reports]).toEqual([[], 2]);
});

test('nothing is checked and no timer is left without an L2Advertisement', async () => {
  const { check, codes, host, clock } = node(link('lo', vip));
  await check.check();
  host.nodeLinks = undefined;
  await check.check();
  expect([codes(), clock.pending]).toEqual([[], 0]);
});

test('the route is looked up only where the kernel may answer as a proxy', async () => {
  const { check, codes, host } = node();
  await check.check();
  expect(host.pathsAsked).toBe(0);
  host.settings = { ...host.settings, 'net/ipv4/conf/eth0/proxy_arp': '1' };
  await check.check();
  expect([host.pathsAsked, codes()]).toEqual([1, []]);
  host.outgoing = 'eth1';
  await check.check();
  expect(codes()).toEqual(both);
});

test('the kernel settings are checked again when the interfaces of the addresses have changed', async () => {
  const { check, host } = node();
  host.own = ['eth0'];
  await check.check();
  await check.check();
  expect(host.settingsChecked).toBe(1);
});
