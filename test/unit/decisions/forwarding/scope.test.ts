import { describe, expect, test } from 'vitest';
import { decideHealthCheck } from '../../../../src/decisions/forwarding/health-check.ts';
import { nodeForwarding } from '../../../../src/decisions/forwarding/node.ts';
import { decideForwarding } from '../../../../src/decisions/forwarding/plan.ts';
import { hasBackends } from '../../../../src/decisions/forwarding/scope.ts';
import type { ServicesScope } from '../../../../src/model/kinds/types.ts';
import { frontendKey } from '../../../../src/net/frontend.ts';
import { formatPrefix } from '../../../../src/net/prefix.ts';
import { cluster } from '../fixtures.ts';

const everything = {
  nodes: [{ name: 'here', internalIPs: ['10.0.0.1', 'fd00::1'], podCIDRs: ['10.1.0.0/24', 'fd01::/64'] }],
  externalIPPolicies: [{ cidrs: ['198.51.100.0/24', '2001:db8:5::/64'] }],
  services: [
    {
      name: 'web',
      clusterIPs: ['10.96.0.9', 'fd96::9'],
      assigned: ['192.0.2.1', '2001:db8::1'],
      externalIPs: ['198.51.100.1', '2001:db8:5::1'],
      ports: ['80@30080'],
      externalTrafficPolicy: 'Local' as const,
      healthCheckNodePort: 31_000,
    },
  ],
  slices: [
    { service: 'web', name: 'web-4', ports: ['80'], endpoints: ['10.1.0.5@here', '10.1.0.6@there'] },
    { service: 'web', name: 'web-6', ports: ['80'], endpoints: ['fd01::5@here'] },
  ],
};

function decide(services: ServicesScope) {
  const snapshot = cluster({ ...everything, config: { services, serviceCIDRs: ['10.96.0.0/12'] } });
  const service = snapshot.services.get('default/web');
  if (service === undefined) throw new Error('no Service');
  const { forwarding, foreign } = decideForwarding(snapshot, service, 'here');
  const keys = (frontends: typeof foreign): string[] => frontends.map(({ match }) => frontendKey(match)).toSorted();
  return {
    ours: keys(forwarding?.frontends ?? []),
    foreign: keys(foreign),
    node: nodeForwarding(snapshot, 'here'),
    healthCheck: decideHealthCheck(snapshot, service, 'here'),
  };
}

const clusterIPs = ['10.96.0.9 TCP 80', 'fd96::9 TCP 80'];
const external = [
  '192.0.2.1 TCP 80',
  '198.51.100.1 TCP 80',
  '2001:db8:5::1 TCP 80',
  '2001:db8::1 TCP 80',
  'NodePort IPv4 TCP 30080',
  'NodePort IPv6 TCP 30080',
];

describe('the scope `services` of HeraldConfig', () => {
  test.each<[ServicesScope, string[], string[]]>([
    ['all', [...clusterIPs, ...external].toSorted(), []],
    ['external', external, clusterIPs],
    ['none', [], [...clusterIPs, ...external].toSorted()],
  ])('scope %s divides the frontends between Herald and another program', (scope, ours, foreign) => {
    expect(decide(scope)).toMatchObject({ ours, foreign });
  });

  test.each<[ServicesScope, string[]]>([
    ['all', ['10.96.0.0/12']],
    ['external', []],
    ['none', []],
  ])('Herald has the Service ranges in scope %s only if it forwards ClusterIPs', (scope, prefixes) => {
    expect(decide(scope).node.servicePrefixes.map(formatPrefix)).toEqual(prefixes);
    expect(decide(scope).node.foreignScopes).toEqual({ all: undefined, external: ['internal'], none: ['internal', 'external'] }[scope]);
  });

  test('health-check node ports are served in scope all only', () => {
    expect(decide('all').healthCheck?.port).toBe(31_000);
    expect(decide('external').healthCheck).toBeUndefined();
    expect(decide('none').healthCheck).toBeUndefined();
  });
});

test('a frontend with policy Local has backends only if this node has one', () => {
  const frontends = (endpoints: readonly string[]) => {
    const snapshot = cluster({ ...everything, slices: [{ service: 'web', ports: ['80'], endpoints }] });
    const service = snapshot.services.get('default/web');
    return service === undefined ? [] : (decideForwarding(snapshot, service, 'here').forwarding?.frontends ?? []);
  };
  const answers = (endpoints: readonly string[]): string[] =>
    frontends(endpoints).flatMap((frontend) =>
      hasBackends(frontend) && frontend.match.kind === 'address' ? [frontendKey(frontend.match)] : [],
    );
  expect(answers(['10.1.0.6@there'])).toEqual(['10.96.0.9 TCP 80']);
  expect(answers(['10.1.0.5@here'])).toEqual(['10.96.0.9 TCP 80', '192.0.2.1 TCP 80', '198.51.100.1 TCP 80']);
  expect(answers([])).toEqual([]);
});
