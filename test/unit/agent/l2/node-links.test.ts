import { expect, test, vi } from 'vitest';
import { limits } from '../../../../src/agent/limits.ts';
import { NodeLinks } from '../../../../src/agent/l2/node-links.ts';
import { addressesText } from '../../../../src/model/objects/node-state.ts';
import type { Snapshot } from '../../../../src/model/store/snapshot.ts';
import { address } from '../../../../src/net/address.ts';
import type { HostLink } from '../../../../src/net/host-link.ts';
import { prefix } from '../../../../src/net/prefix.ts';
import { silentLog } from '../../../../src/system/log.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';

const eth0: HostLink = {
  name: 'eth0',
  linkAddress: '02:00:00:00:00:01',
  up: true,
  carrier: true,
  noArp: false,
  loopback: false,
  leadsElsewhere: false,
  addresses: [{ address: address('192.0.2.1'), network: prefix('192.0.2.0/24') }],
};

/** Links of a host that the test changes; `tell` is the event of the kernel. */
function bed() {
  const clock = new VirtualClock();
  const host = { links: [eth0] as readonly HostLink[], readings: 0, followers: new Set<() => void>() };
  const onChanged = vi.fn<() => void>();
  const onStatusChanged = vi.fn<() => void>();
  const advertisements = new Map([['pool', { interfaces: [] }]]);
  const config = { answerOnLocalLinks: false };
  const forRouters = new Map<string, object>();
  const links = new NodeLinks(
    {
      hostLinks: async () => {
        host.readings++;
        return host.links;
      },
      followLinks: (changed) => {
        host.followers.add(changed);
        return () => void host.followers.delete(changed);
      },
      clock,
      log: silentLog,
    },
    {
      node: 'n1',
      snapshot: () => ({ l2Advertisements: advertisements, advertisements: forRouters, nodes: new Map(), config }) as unknown as Snapshot,
      onChanged,
      onStatusChanged,
    },
  );
  const tell = async (): Promise<void> => {
    for (const changed of host.followers) changed();
    await vi.waitFor(() => undefined);
    await Promise.resolve();
  };
  return { clock, host, links, onChanged, onStatusChanged, advertisements, forRouters, config, tell };
}

test('L2-28 a link that loses its carrier is left out as soon as the kernel reports it', async () => {
  const { host, links, onChanged, tell } = bed();
  await links.reconcile();
  expect(links.links?.map(({ name }) => name)).toEqual(['eth0']);
  onChanged.mockClear();
  host.links = [{ ...eth0, carrier: false }];
  await tell();
  expect(links.links).toEqual([]);
  expect(onChanged).toHaveBeenCalledTimes(1);
});

test('events during a reading have the links read once more, not once for each', async () => {
  const { host, links } = bed();
  const first = links.reconcile();
  for (let event = 0; event < 20; event++) for (const changed of host.followers) changed();
  await first;
  expect(host.readings).toBe(2);
});

test('without an event the links are read again after a while', async () => {
  const { clock, host, links } = bed();
  await links.reconcile();
  host.links = [];
  clock.advance(limits.linkCheckMilliseconds);
  await vi.waitFor(() => expect(links.links).toEqual([]));
});

test('the links are not known any more when the last advertisement is gone, and are when there is one again', async () => {
  const { host, links, advertisements } = bed();
  await links.reconcile();
  advertisements.clear();
  expect(links.reconcile()).toBeUndefined();
  expect(links.links).toBeUndefined();
  advertisements.set('pool', { interfaces: [] });
  await links.reconcile();
  expect(links.links?.map(({ name }) => name)).toEqual(['eth0']);
  expect(host.followers.size).toBe(1);
});

test('nothing is followed or read any more when the agent stops', async () => {
  const { clock, host, links } = bed();
  await links.reconcile();
  links.stop();
  expect(host.followers.size).toBe(0);
  const { readings } = host;
  clock.advance(10 * limits.hostCheckMilliseconds);
  expect(host.readings).toBe(readings);
});

test('a BGPAdvertisement alone has the links reported, because its addresses may lie in their networks', async () => {
  const { links, advertisements, forRouters, config, onChanged } = bed();
  advertisements.clear();
  forRouters.set('routers', {});
  expect(links.reconcile()).toBeUndefined();
  await vi.waitFor(() => expect(links.reportPart().links?.map(({ name }) => name)).toEqual(['eth0']));
  expect([links.links, onChanged.mock.calls.length]).toEqual([undefined, 0]);
  config.answerOnLocalLinks = true;
  await links.reconcile();
  expect(links.links?.map(({ name }) => name)).toEqual(['eth0']);
});

test('without an advertisement the addresses of the interfaces are reported, and again after each change', async () => {
  const { host, links, advertisements, onStatusChanged, onChanged, tell } = bed();
  advertisements.clear();
  expect(links.reconcile()).toBeUndefined();
  await vi.waitFor(() => expect(addressesText(links.reportPart())).toBe('eth0 192.0.2.1/24'));
  const virtual = { ...eth0, addresses: [...eth0.addresses, { address: address('192.0.2.100') }] };
  host.links = [virtual];
  await tell();
  await vi.waitFor(() => expect(addressesText(links.reportPart())).toBe('eth0 192.0.2.1/24 192.0.2.100/32'));
  expect(onStatusChanged).toHaveBeenCalledTimes(2);
  await tell();
  expect(onStatusChanged).toHaveBeenCalledTimes(2);
  expect([links.reportPart().links, onChanged.mock.calls.length]).toEqual([undefined, 0]);
});
