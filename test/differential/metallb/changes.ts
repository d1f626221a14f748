import type { Random } from '../../fuzz/random.ts';
import { keyOf, namespaces, type Pool, type WantedService } from './objects.ts';

/** A change of one Service: its new form, or its deletion. */
export interface Change {
  readonly key: string;
  readonly service: WantedService | undefined;
  readonly text: string;
}

/** Returns the next change: usually a new Service, else a Service with another form or without one. */
export function nextChange(random: Random, pools: readonly Pool[], services: ReadonlyMap<string, WantedService>, serial: number): Change {
  const present = [...services.values()];
  const next = random.below(10);
  if (present.length === 0 || (next < 5 && present.length < 12)) {
    const service = randomService(random, pools, `s${serial}`);
    return { key: keyOf(service), service, text: 'is created' };
  }
  const service = random.pick(present);
  if (next < 7) return { key: keyOf(service), service: undefined, text: 'is deleted' };
  const [text, changed] = alter(random, pools, service);
  return { key: keyOf(service), service: changed, text };
}

function randomService(random: Random, pools: readonly Pool[], name: string): WantedService {
  const [families, policy] = random.pick<readonly [WantedService['families'], WantedService['policy']]>([
    [['IPv4'], 'SingleStack'],
    [['IPv4'], 'SingleStack'],
    [['IPv6'], 'SingleStack'],
    [['IPv4', 'IPv6'], 'PreferDualStack'],
    [['IPv4', 'IPv6'], 'PreferDualStack'],
    [['IPv6', 'IPv4'], 'PreferDualStack'],
    [['IPv4', 'IPv6'], 'RequireDualStack'],
  ]);
  const plain: WantedService = {
    namespace: random.pick(Object.keys(namespaces)),
    name,
    type: 'LoadBalancer',
    labels: random.pick([{}, { tier: 'x' }, { tier: 'y' }]),
    annotations: {},
    families,
    policy,
    ports: randomPorts(random),
    trafficPolicy: random.chance(4) ? 'Local' : 'Cluster',
    app: random.pick(['p', 'q']),
  };
  const shared = random.chance(2) ? withKey(plain, sharingKey(random, plain.namespace)) : plain;
  if (random.chance(4)) return withAnnotation(shared, 'address-pool', requestedPool(random, pools), random);
  if (random.chance(4)) return withRequest(shared, requestedAddresses(random, pools, families), random);
  return shared;
}

const randomPorts = (random: Random): WantedService['ports'] =>
  random.pick([
    [{ port: 80, protocol: 'TCP' }],
    [{ port: 443, protocol: 'TCP' }],
    [{ port: 80, protocol: 'UDP' }],
    [
      { port: 80, protocol: 'TCP' },
      { port: 443, protocol: 'TCP' },
    ],
    [
      { port: 53, protocol: 'TCP' },
      { port: 53, protocol: 'UDP' },
    ],
  ] as const);

/** Returns a key that Services of the namespace have in common, and now and then Services of all namespaces. */
const sharingKey = (random: Random, namespace: string): string => (random.chance(3) ? 'k' : `${namespace}-k`);

const requestedPool = (random: Random, pools: readonly Pool[]): string => (random.chance(8) ? 'absent' : random.pick(pools).name);

/** Returns addresses of pools, usually of the families of the Service, and now and then one of no pool. */
function requestedAddresses(random: Random, pools: readonly Pool[], families: WantedService['families']): string[] {
  if (random.chance(10)) return ['203.0.113.200'];
  const wanted = random.chance(4) ? families.slice(0, 1) : families;
  const home = random.pick(pools);
  return wanted.flatMap((family) => {
    const pool = random.chance(6) ? random.pick(pools) : home;
    const range = pool.spec.addresses.find((text) => text.includes(':') === (family === 'IPv6'));
    return range === undefined ? [] : [range.split(/[/-]/)[0] ?? ''];
  });
}

function withAnnotation(service: WantedService, name: string, value: string, random: Random): WantedService {
  const prefix = random.chance(5) ? 'metallb.universe.tf' : 'metallb.io';
  return { ...service, annotations: { ...service.annotations, [`${prefix}/${name}`]: value } };
}

function withRequest(service: WantedService, addresses: readonly string[], random: Random): WantedService {
  const [only, ...others] = addresses;
  if (only === undefined) return service;
  if (others.length === 0 && random.chance(3)) return { ...service, loadBalancerIP: only };
  return withAnnotation(service, 'loadBalancerIPs', addresses.join(random.chance(2) ? ',' : ', '), random);
}

const withKey = (service: WantedService, key: string): WantedService => ({
  ...service,
  annotations: { ...service.annotations, 'metallb.io/allow-shared-ip': key },
});

function without(service: WantedService, name: string): WantedService {
  const kept = Object.entries(service.annotations).filter(([key]) => !key.endsWith(`/${name}`));
  const { loadBalancerIP, ...rest } = service;
  const request = name === 'loadBalancerIPs' || loadBalancerIP === undefined ? {} : { loadBalancerIP };
  return { ...rest, ...request, annotations: Object.fromEntries(kept) };
}

function alter(random: Random, pools: readonly Pool[], service: WantedService): readonly [string, WantedService] {
  switch (random.below(8)) {
    case 0:
      return ['changes its ports', { ...service, ports: randomPorts(random) }];
    case 1:
      return ['changes its type', { ...service, type: service.type === 'ClusterIP' ? 'LoadBalancer' : 'ClusterIP' }];
    case 2:
      return ['changes its traffic policy', { ...service, trafficPolicy: service.trafficPolicy === 'Local' ? 'Cluster' : 'Local' }];
    case 3:
      return ['loses its sharing key', without(service, 'allow-shared-ip')];
    case 4:
      return ['gets a sharing key', withKey(service, sharingKey(random, service.namespace))];
    case 5: {
      const plain = without(service, 'address-pool');
      return [
        'asks for another pool',
        random.chance(3) ? plain : withAnnotation(plain, 'address-pool', requestedPool(random, pools), random),
      ];
    }
    case 6: {
      const plain = without(service, 'loadBalancerIPs');
      const addresses = requestedAddresses(random, pools, service.families);
      return ['asks for other addresses', random.chance(3) ? plain : withRequest(plain, addresses, random)];
    }
    default: {
      const [first = 'IPv4'] = service.families;
      const other = first === 'IPv4' ? 'IPv6' : 'IPv4';
      const single = service.families.length === 2;
      return [
        'changes its families',
        {
          ...service,
          families: single ? [first] : [first, other],
          policy: single ? 'SingleStack' : random.pick(['PreferDualStack', 'RequireDualStack']),
        },
      ];
    }
  }
}
