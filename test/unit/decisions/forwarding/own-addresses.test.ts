import { describe, expect, test } from 'vitest';
import { withoutNodeAddresses } from '../../../../src/decisions/forwarding/own-addresses.ts';
import { decideForwarding } from '../../../../src/decisions/forwarding/plan.ts';
import { address } from '../../../../src/net/address.ts';
import { frontendKey } from '../../../../src/net/frontend.ts';
import { formatPrefix, prefix } from '../../../../src/net/prefix.ts';
import { cluster, type ServiceLiteral } from '../fixtures.ts';

const nodes = [
  { name: 'here', internalIPs: ['10.0.0.1', 'fd00::1'] },
  { name: 'there', internalIPs: ['10.0.0.2', 'fd00::2'] },
];

/** Returns the keys of the frontends that refuse the rest of their address. */
function refusing(service: Omit<ServiceLiteral, 'name'>, addressTypes: readonly ('LoadBalancer' | 'ExternalIP')[]): string[] {
  const snapshot = cluster({
    nodes,
    pools: [{ name: 'main', addresses: ['192.0.2.0/24', '10.0.0.0/24', '2001:db8::/64'] }],
    advertisements: [{ name: 'all', addressTypes }],
    services: [{ name: 'web', clusterIPs: ['10.96.0.1', 'fd96::1'], ports: ['80@30080'], ...service }],
    externalIPPolicies: [{ cidrs: ['0.0.0.0/0', '::/0'] }],
  });
  const [web] = snapshot.services.values();
  const { frontends = [] } = (web && decideForwarding(snapshot, web, 'here').forwarding) ?? {};
  return frontends.flatMap((frontend) => (frontend.refusesRest ? [frontendKey(frontend.match)] : []));
}

describe('the rest of an address', () => {
  test('load balancer addresses of pools refuse it, and ClusterIPs and NodePorts do not', () => {
    expect(refusing({ assigned: ['192.0.2.1', '2001:db8::1'] }, [])).toEqual(['192.0.2.1 TCP 80', '2001:db8::1 TCP 80']);
    expect(refusing({ assigned: ['203.0.113.1'] }, ['LoadBalancer', 'ExternalIP'])).toEqual([]);
  });

  test('load balancer addresses of a pool on record refuse it when the pool is gone', () => {
    const [v4, v6] = ['203.0.113.1', '2001:db8:9::1'];
    const recordedPools = [v4, v6].map((text) => ({ address: address(text), pool: 'old', labels: {} }));
    expect(refusing({ assigned: [v4, v6], recordedPools }, ['LoadBalancer'])).toEqual([`${v6} TCP 80`, `${v4} TCP 80`]);
  });

  test('external IPs refuse it where a BGPAdvertisement announces them', () => {
    const externalIPs = ['198.51.100.1', '2001:db8:2::1'];
    expect(refusing({ externalIPs }, ['ExternalIP'])).toEqual(['198.51.100.1 TCP 80', '2001:db8:2::1 TCP 80']);
    expect(refusing({ externalIPs }, ['LoadBalancer'])).toEqual([]);
  });

  test.each(nodes)('addresses of the Node $name do not refuse it', ({ internalIPs }) => {
    expect(refusing({ assigned: internalIPs, externalIPs: internalIPs }, ['LoadBalancer', 'ExternalIP'])).toEqual([]);
  });

  test('blocks leave out addresses of Nodes', () => {
    const left = withoutNodeAddresses(
      cluster({ nodes }),
      ['10.0.0.0/30', 'fd00::/126', '192.0.2.0/24'].map((text) => prefix(text)),
    );
    expect(left.map(formatPrefix)).toEqual(['10.0.0.0/32', '10.0.0.3/32', 'fd00::/128', 'fd00::3/128', '192.0.2.0/24']);
  });
});
