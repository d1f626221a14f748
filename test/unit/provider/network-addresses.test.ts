import { expect, test } from 'vitest';
import { BareMetalProvider } from '../../../providers/bare-metal/provider.ts';
import { explainPool, renderPool } from '../../../src/explain/pools/pool.ts';
import type { KindName } from '../../../src/model/store/snapshot.ts';
import { cluster, type ClusterLiteral } from '../decisions/fixtures.ts';

const services = [{ name: 'shop/web', loadBalancerClass: 'herald.dev/herald' }];
const pools = [{ name: 'p', addresses: ['192.0.2.1-192.0.2.1'] }];
const n1 = { name: 'n1', internalIPs: ['192.0.2.1'] };
const tor = { name: 'tor', peerAddress: '192.0.2.1' };
const world = (further: ClusterLiteral) => cluster({ services, pools, ...further });

async function outcome(provider: BareMetalProvider, snapshot: ReturnType<typeof world>) {
  const service = snapshot.services.get('shop/web');
  if (service === undefined) throw new Error('no Service');
  const { ingress, reason } = await provider.reconcile(service, snapshot);
  return [ingress.length, reason?.code];
}

test.each<[KindName, string, ClusterLiteral]>([
  ['Node', 'n1', { nodes: [n1] }],
  ['BGPPeer', 'tor', { peers: [tor] }],
])('a %s that gives up an address of a pool makes it free for the Service that waits', async (kind, key, taken) => {
  const provider = new BareMetalProvider();
  provider.adopt(world(taken), new Map(), new Map());
  expect(await outcome(provider, world(taken))).toEqual([0, 'PoolFull']);
  expect([...provider.affected([{ kind, key }], world({}))]).toEqual(['shop/web']);
  expect(await outcome(provider, world({}))).toEqual([1, undefined]);
  // Its holder keeps the address when a Node or router takes it again, and hears of it.
  expect([...provider.affected([{ kind, key }], world(taken))]).toEqual(['shop/web']);
  expect(await outcome(provider, world(taken))).toEqual([1, 'AddressInUseBy']);
});

test('a change of a Node other than of its addresses in pools concerns no Service', () => {
  const provider = new BareMetalProvider();
  provider.adopt(world({ nodes: [n1] }), new Map(), new Map());
  const nodes = [
    { ...n1, labels: { rack: 'a' } },
    { name: 'n2', internalIPs: ['10.0.0.2'] },
  ];
  expect([...provider.affected([{ kind: 'Node', key: 'n1' }], world({ nodes }))]).toEqual([]);
});

test('explain pool names the Node whose address is the only one of the pool', () => {
  const explanation = explainPool(world({ nodes: [n1] }), 'p');
  expect([explanation?.reason?.code, explanation?.warning?.code]).toEqual(['PoolFull', 'PoolHoldsNodeAddress']);
});

test('explain pool does not count addresses of Nodes and routers, and names the problem', () => {
  const wide = [{ name: 'p', addresses: ['192.0.2.0-192.0.2.3'] }];
  const explanation = explainPool(world({ pools: wide, nodes: [n1], peers: [{ name: 'tor', peerAddress: '192.0.2.2' }] }), 'p');
  expect(explanation?.usage).toEqual([{ family: 'IPv4', assigned: 0, free: '2', total: '2' }]);
  expect(explanation?.warning?.code).toBe('PoolHoldsNodeAddress');
  expect(explanation === undefined ? [] : renderPool(explanation)).toContain('Usage      IPv4 0 given, 2 of 2 free');
});

const policy = { externalIPPolicies: [{ cidrs: ['192.0.2.0/24'] }] };
const other = { name: 'shop/other', type: 'ClusterIP' as const };

test.each<[string, string, ClusterLiteral]>([
  ['the ClusterIP of another Service', 'shop/other', { services: [...services, { ...other, clusterIPs: ['192.0.2.1'] }] }],
  ['an external IP that a policy allows', 'shop/other', { services: [...services, { ...other, externalIPs: ['192.0.2.1'] }], ...policy }],
  [
    'an address that another controller gave',
    'shop/other',
    { services: [...services, { name: 'shop/other', loadBalancerClass: 'example.com/other', assigned: ['192.0.2.1'] }] },
  ],
])('a Service is not given %s, and gets the address when it is free', async (_, key, taken) => {
  const provider = new BareMetalProvider();
  provider.adopt(world(policy), new Map(), new Map());
  provider.affected([{ kind: 'Service', key }], world(taken));
  expect(await outcome(provider, world(taken))).toEqual([0, 'PoolFull']);
  expect([...provider.affected([{ kind: 'Service', key }], world({}))]).toContain('shop/web');
  expect(await outcome(provider, world({}))).toEqual([1, undefined]);
});

test('an external IP that no policy allows takes no address of a pool', async () => {
  const provider = new BareMetalProvider();
  const taken = { services: [...services, { ...other, externalIPs: ['192.0.2.1'] }] };
  provider.adopt(world(taken), new Map(), new Map());
  expect(await outcome(provider, world(taken))).toEqual([1, undefined]);
});

test('an address that a node reports on an interface is given to no Service until the report lacks it', async () => {
  const provider = new BareMetalProvider();
  const taken = { nodes: [{ name: 'n1' }], interfaces: { n1: { eth0: ['192.0.2.1/32'] } } };
  provider.adopt(world({ nodes: [{ name: 'n1' }] }), new Map(), new Map());
  provider.affected([{ kind: 'NodeState', key: 'n1' }], world(taken));
  expect(await outcome(provider, world(taken))).toEqual([0, 'PoolFull']);
  const gone = world({ nodes: [{ name: 'n1' }] });
  expect([...provider.affected([{ kind: 'NodeState', key: 'n1' }], gone)]).toEqual(['shop/web']);
  expect(await outcome(provider, gone)).toEqual([1, undefined]);
});
