import { describe, expect, test } from 'vitest';
import { serviceDependsOn, sessionDependsOn } from '../../../src/decisions/decision-inputs.ts';
import type { HeraldObject } from '../../../src/model/store/snapshot.ts';
import { prefix } from '../../../src/net/prefix.ts';
import {
  advertisement,
  bfdProfile,
  cluster,
  config,
  l2Advertisement,
  matching,
  metadata,
  node,
  peer,
  pool,
  type ClusterLiteral,
  type PoolLiteral,
} from './fixtures.ts';

const base: ClusterLiteral = {
  services: [
    { name: 'shop/web', assigned: ['192.0.2.1'], labels: { app: 'web' } },
    { name: 'shop/waits', clusterIPs: ['10.96.0.2'] },
  ],
  pools: [{ name: 'main', addresses: ['192.0.2.0/28'] }],
  advertisements: [{ name: 'all', ipAddressPools: ['main'], communities: ['gold'] }],
  peers: [{ name: 'tor', bfdProfile: 'fast', passwordSecret: { namespace: 'herald', name: 'bgp' } }],
  nodes: [{ name: 'n1', labels: { rack: 'a' } }, { name: 'n2' }],
};

const namespace = (name: string): HeraldObject => ({ kind: 'Namespace', metadata: metadata(name) });
const secret = (name: string): HeraldObject => ({ kind: 'Secret', metadata: metadata(name, 'herald'), type: 'kubernetes.io/basic-auth' });
const community = (name: string): HeraldObject => ({
  kind: 'Community',
  metadata: metadata('named'),
  communities: [{ name, value: '64512:1' }],
});
const serviceCIDR = (cidr: string): HeraldObject => ({ kind: 'ServiceCIDR', metadata: metadata('main'), cidrs: [prefix(cidr)] });
const policy: HeraldObject = { kind: 'ExternalIPPolicy', metadata: metadata('p'), namespaceSelector: matching({}), cidrs: [] };

interface Where {
  readonly of?: 'shop/web' | 'shop/waits';
  /** Absent: the controller. */
  readonly on?: string;
  readonly in?: ClusterLiteral;
}

function depends(versions: readonly HeraldObject[], { of = 'shop/web', on, in: literal = base }: Where): boolean {
  const snapshot = cluster(literal);
  const service = snapshot.services.get(of);
  if (service === undefined) throw new Error(`no ${of}`);
  return serviceDependsOn(snapshot, service, versions, on);
}

const onN1: Where = { on: 'n1' };
const rackB = { nodeSelectors: [matching({ rack: 'b' })] };
const onLink = { ...base, l2Advertisements: [{ name: 'lan' }] };
const selecting = { namespaceSelectors: [matching({ team: 'a' })] };

describe('the decisions about a Service rest on', () => {
  test.each<[string, HeraldObject, Where]>([
    ['HeraldConfig', config(), onN1],
    ['the pool of its address', pool({ name: 'main', addresses: ['192.0.2.0/28'] }), onN1],
    ['a pool that may give it one', pool({ name: 'spare', addresses: ['198.51.100.0/28'] }), { of: 'shop/waits' }],
    ['an advertisement of its pool', advertisement({ name: 'all', ipAddressPools: ['main'] }), onN1],
    ['an advertisement on another node, for the controller', advertisement({ name: 'b', ...rackB }), {}],
    ['an advertisement of its address on links', l2Advertisement({ name: 'lan' }), onN1],
    ['a router that gets its routes', peer({ name: 'tor' }), onN1],
    ['a community of its routes', community('gold'), onN1],
    ['the BFD profile of such a router', bfdProfile({ name: 'fast' }), onN1],
    ['the password of such a router', secret('bgp'), onN1],
    ['the own Node', node({ name: 'n1' }), onN1],
    ['any Node that announces it, for the controller', node({ name: 'n2' }), {}],
    ['another Node on the same link', node({ name: 'n2' }), { on: 'n1', in: onLink }],
    [
      'another Node, when the own one drains',
      node({ name: 'n2' }),
      { on: 'n1', in: { ...base, nodes: [{ name: 'n1', drain: 'keepLast' }] } },
    ],
    ['its Namespace, if a pool selects Namespaces', namespace('shop'), { in: { ...base, pools: [selectivePool()] } }],
    ['the ServiceCIDR of its ClusterIP', serviceCIDR('10.96.0.0/16'), onN1],
  ])('%s', (_, object, where) => {
    expect(depends([object], where)).toBe(true);
  });

  test('an object that no longer concerns it after the change', () => {
    const [before, after] = [
      advertisement({ name: 'all', ipAddressPools: ['main'] }),
      advertisement({ name: 'all', ipAddressPools: ['other'] }),
    ];
    expect(depends([before, after], onN1)).toBe(true);
    expect(depends([after], onN1)).toBe(false);
  });
});

function selectivePool(): PoolLiteral {
  return { name: 'main', addresses: ['192.0.2.0/28'], serviceAllocation: selecting };
}

describe('the decisions about a Service do not rest on', () => {
  test.each<[string, HeraldObject, Where]>([
    ['another pool', pool({ name: 'spare', addresses: ['198.51.100.0/28'] }), {}],
    [
      'a pool that serves other namespaces',
      pool({ name: 'spare', addresses: ['198.51.100.0/28'], serviceAllocation: { namespaces: ['x'] } }),
      { of: 'shop/waits' },
    ],
    ['an advertisement of another pool', advertisement({ name: 'other', ipAddressPools: ['other'] }), onN1],
    ['an advertisement for other nodes', advertisement({ name: 'b', ...rackB }), onN1],
    ['an advertisement of other Services', advertisement({ name: 'b', serviceSelectors: [matching({ app: 'tea' })] }), onN1],
    ['a router of other nodes', peer({ name: 'tor', ...rackB }), onN1],
    ['another community', community('silver'), onN1],
    ['another BFD profile', bfdProfile({ name: 'slow' }), onN1],
    ['another Secret', secret('other'), onN1],
    ['another Node', node({ name: 'n2' }), onN1],
    ['another Namespace', namespace('zz'), { in: { ...base, pools: [selectivePool()] } }],
    ['its Namespace, if nothing selects Namespaces', namespace('shop'), {}],
    ['a ServiceCIDR without its ClusterIP', serviceCIDR('10.97.0.0/16'), onN1],
    ['a policy for external IPs, of which it has none', policy, onN1],
  ])('%s', (_, object, where) => {
    expect(depends([object], where)).toBe(false);
  });
});

describe('a session rests on', () => {
  const rests = (object: HeraldObject): boolean => sessionDependsOn(cluster(base), 'tor', [object], 'n1');

  test('its BGPPeer, the Node, and the BFD profile and the password that it names', () => {
    expect([peer({ name: 'tor' }), node({ name: 'n1' }), bfdProfile({ name: 'fast' }), secret('bgp')].map(rests)).toEqual([
      true,
      true,
      true,
      true,
    ]);
  });

  test('no other objects', () => {
    const others = [
      peer({ name: 'tor2' }),
      node({ name: 'n2' }),
      bfdProfile({ name: 'slow' }),
      secret('other'),
      config(),
      namespace('shop'),
    ];
    expect(others.filter(rests)).toEqual([]);
  });
});
