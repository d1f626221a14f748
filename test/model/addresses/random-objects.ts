import type { IPAddressPool } from '../../../src/model/kinds/types.ts';
import type { ServiceKey } from '../../../src/model/objects/metadata.ts';
import type { Service } from '../../../src/model/objects/service.ts';
import type { Random } from '../../fuzz/random.ts';
import { matching, pool, service } from '../../unit/decisions/fixtures.ts';

/** Few names and few addresses, so that conflicts are frequent. */
export const serviceKeys: readonly ServiceKey[] = ['n/a', 'n/b', 'n/c', 'n/d', 'm/a', 'm/b', 'm/c', 'm/d'];
export const namespaceNames = ['n', 'm'] as const;
export const poolNames = ['p', 'q', 'r'] as const;

const requested = ['192.0.2.0', '192.0.2.1', '192.0.2.2', '192.0.2.8', '192.0.2.9', '2001:db8::', '2001:db8::1', '2001:db8:1::1'];

export function anyService(random: Random, name: ServiceKey): Service {
  const rarely = <T>(oneIn: number, value: T, usual: T): T => (random.chance(oneIn) ? value : usual);
  const addresses = rarely(5, [random.pick(requested), random.pick(requested)].slice(0, 1 + random.below(2)), []);
  const sharingKey = random.chance(2) ? random.pick(['k', 'l']) : '';
  const requestedPool = random.chance(6) ? random.pick(poolNames) : '';
  const stack = random.pick([
    { clusterIPs: ['10.96.0.1'] },
    { clusterIPs: ['10.96.0.1'] },
    { clusterIPs: ['fd96::1'] },
    { clusterIPs: ['fd96::1', '10.96.0.1'], ipFamilyPolicy: 'PreferDualStack' as const },
    { clusterIPs: ['10.96.0.1', 'fd96::1'], ipFamilyPolicy: 'RequireDualStack' as const },
  ]);
  const bare = service({
    name,
    ...stack,
    type: rarely(12, 'ClusterIP' as const, 'LoadBalancer' as const),
    labels: rarely<Record<string, string>>(2, { app: 'x' }, {}),
    requested: [...new Set(addresses)],
    ...(sharingKey === '' ? {} : { sharingKey }),
    ...(requestedPool === '' ? {} : { requestedPool }),
    sharingNamespaces: random.pick([[], ['*'], ['m'], ['n']]),
    keepsAddresses: random.chance(8),
    ports: random.pick([['80'], ['443'], ['80/UDP'], ['a:80', 'b:443']]),
    externalTrafficPolicy: rarely(4, 'Local' as const, 'Cluster' as const),
    selectorText: random.pick(['', 'app=x']),
  });
  const made = { ...bare, metadata: { ...bare.metadata, creationTimestamp: '2026-01-01T00:00:00Z' } };
  const loadBalancerClass = random.pick(['herald.dev/herald', 'herald.dev/herald', 'example.com/other', '']);
  return random.chance(4) && loadBalancerClass !== '' ? { ...made, loadBalancerClass } : made;
}

/** The pools are disjoint, whichever form each has. */
export function anyPool(random: Random, name: (typeof poolNames)[number]): IPAddressPool {
  const ranges = {
    p: [['192.0.2.0-192.0.2.2', '2001:db8::-2001:db8::1'], ['192.0.2.0-192.0.2.3'], ['192.0.2.1-192.0.2.2', '2001:db8::/126']],
    q: [['192.0.2.8/31'], ['192.0.2.8-192.0.2.8', '2001:db8:1::1-2001:db8:1::1']],
    r: [['192.0.2.255-192.0.3.1'], ['2001:db8:2::/127']],
  }[name];
  const addresses = random.pick(ranges);
  const [first = ''] = addresses[0]?.split(/[-/]/) ?? [];
  const allocation = random.pick([
    { priority: random.below(3) },
    { namespaces: ['n'] },
    { namespaceSelectors: [matching({ team: 'x' })] },
    { serviceSelectors: [matching({ app: 'x' })] },
  ]);
  return pool({
    name,
    addresses,
    autoAssign: !random.chance(6),
    avoidBuggyIPs: random.chance(3),
    draining: random.chance(8),
    reserved: random.chance(4) ? { [first]: random.pick(serviceKeys) } : {},
    keepReleasedSeconds: random.chance(3) ? 30 : 0,
    quota: random.chance(4) ? [{ namespaceSelector: matching(random.chance(2) ? {} : { team: 'x' }), addresses: random.below(3) }] : [],
    ...(random.chance(3) ? { serviceAllocation: allocation } : {}),
  });
}
