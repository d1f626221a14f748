import { expect, test } from 'vitest';
import { checkBridges, findDroppingBridges } from '../../../../src/agent/host/bridge-check.ts';
import { formatAddress } from '../../../../src/net/address.ts';
import type { HostLink } from '../../../../src/net/host-link.ts';
import { cluster } from '../../decisions/fixtures.ts';

const br0: HostLink = {
  name: 'br0',
  kind: 'bridge',
  up: true,
  carrier: true,
  noArp: false,
  loopback: false,
  leadsElsewhere: false,
  addresses: [],
};

/** Checks n1, whose bridge br0 leads to the network of the nodes. Pods of other nodes are reached by a tunnel. Returns the codes and the addresses asked for. */
async function check(endpoints: readonly string[], links: readonly HostLink[] = [br0]) {
  const snapshot = cluster({
    nodes: [
      { name: 'n1', internalIPs: ['10.0.0.1'] },
      { name: 'n2', internalIPs: ['10.0.0.2'] },
    ],
    services: [{ name: 'web' }],
    slices: [{ service: 'web', endpoints }],
  });
  const asked: string[] = [];
  const found = await checkBridges(
    {
      host: { readSetting: async (path) => (path === 'net/bridge/bridge-nf-call-iptables' ? '1' : undefined) },
      hostLinks: async () => links,
      hostPaths: async (targets) =>
        targets.map((target) => {
          const text = 'family' in target ? formatAddress(target) : target.interface;
          asked.push(text);
          return { interface: text.startsWith('10.0.') ? 'br0' : 'tunnel0', mtu: 1500 };
        }),
    },
    snapshot,
    'n1',
  );
  return { codes: found.map(({ code }) => code), asked };
}

test('the bridge loses an endpoint in the network of another node, and keeps one that a tunnel reaches', async () => {
  expect(await check(['10.0.0.2@n2'])).toEqual({ codes: ['BridgeDropsForwarded'], asked: ['10.0.0.2'] });
  expect(await check(['10.244.2.9@n2'])).toEqual({ codes: [], asked: ['10.244.2.9'] });
  expect((await check(['10.244.2.9@n2', '10.0.0.2@n2'])).codes).toEqual(['BridgeDropsForwarded']);
});

test('nothing is asked of the kernel without an endpoint on another node, or without a bridge', async () => {
  const nothing = { codes: [], asked: [] };
  expect(await check(['10.244.1.9@n1', '10.0.0.1@n1', '10.0.0.2@n2 terminating'])).toEqual(nothing);
  expect(await check(['10.0.0.2@n2'], [{ ...br0, kind: 'vlan' }])).toEqual(nothing);
});

test('a bridge certainly drops when its only port is the way of all clients, by routers and by announcements', async () => {
  const router = { name: 'tor1', peerAddress: '10.0.0.254' };
  const dropping = async (announcing: readonly string[], routers: readonly (typeof router)[], uplink = 'br0') => {
    const snapshot = cluster({ nodes: [{ name: 'n1', internalIPs: ['10.0.0.1'] }], peers: routers });
    const components = {
      host: { readSetting: async (path: string) => (path === 'net/bridge/bridge-nf-call-iptables' ? '1' : undefined) },
      hostLinks: async () => [br0, { ...br0, name: 'eth0', kind: 'veth', master: 'br0' }],
      hostPaths: async (targets: readonly unknown[]) => targets.map(() => ({ interface: uplink, mtu: 1500 })),
    };
    return (await findDroppingBridges(components, snapshot, 'n1', announcing)).map((one) => [one.interface, ...one.families]);
  };
  expect(await dropping(['br0'], [])).toEqual([['br0', 4]]);
  expect(await dropping([], [router])).toEqual([['br0', 4]]);
  expect(await dropping([], [router], 'eth1')).toEqual([]);
  expect(await dropping(['eth1'], [router])).toEqual([]);
  expect(await dropping([], [])).toEqual([]);
});
