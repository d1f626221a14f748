import { describe, expect, test } from 'vitest';
import { decideForwarding } from '../../../../src/decisions/forwarding/plan.ts';
import { formatAddress } from '../../../../src/net/address.ts';
import { frontendKey } from '../../../../src/net/frontend.ts';
import { cluster, type ServiceLiteral } from '../fixtures.ts';

const addresses = { clusterIPs: ['10.96.0.1', 'fd96::1'], assigned: ['192.0.2.1', '2001:db8::1'], externalIPs: ['198.51.100.1'] } as const;

/** "192.0.2.1 TCP 80 by 10.0.0.1", of the frontends whose address answers. */
function echoes(
  service: Omit<ServiceLiteral, 'name'>,
  endpoints: readonly string[],
  icmpEcho: boolean,
  internalIPs = ['10.0.0.1', 'fd00::1'],
) {
  const snapshot = cluster({
    nodes: [{ name: 'here', internalIPs }],
    services: [{ name: 'web', ...addresses, ports: ['80@30080'], ...service }],
    slices: [
      { service: 'web', endpoints: endpoints.filter((text) => !text.includes(':')) },
      { service: 'web', name: 'six', family: 6, endpoints: endpoints.filter((text) => text.includes(':')) },
    ],
    externalIPPolicies: [{ cidrs: ['0.0.0.0/0', '::/0'] }],
    config: { icmpEcho },
  });
  const [web] = snapshot.services.values();
  const { frontends = [] } = (web && decideForwarding(snapshot, web, 'here').forwarding) ?? {};
  return frontends.flatMap(({ match, echoFrom }) =>
    echoFrom === undefined ? [] : [`${frontendKey(match)} by ${formatAddress(echoFrom)}`],
  );
}

describe('an address answers ICMP echo', () => {
  const both = ['10.1.0.1@here', 'fd10::1@here'];
  const external = ['192.0.2.1 TCP 80 by 10.0.0.1', '198.51.100.1 TCP 80 by 10.0.0.1', '2001:db8::1 TCP 80 by fd00::1'];

  test('where it is external and has a backend, by the first address of the node of its family', () => {
    expect(echoes({}, both, true)).toEqual(external);
    expect(echoes({}, ['10.1.0.1@there'], true)).toEqual(external.slice(0, 2));
    expect(echoes({}, [], true)).toEqual([]);
    expect(echoes({}, both, true, ['10.0.0.1'])).toEqual(external.slice(0, 2));
  });

  test('under policy Local where the backend is on the node', () => {
    expect(echoes({ externalTrafficPolicy: 'Local' }, ['10.1.0.1@here', 'fd10::1@there'], true)).toEqual(external.slice(0, 2));
  });

  test('where its Service says so, else where HeraldConfig does', () => {
    expect(echoes({}, both, false)).toEqual([]);
    expect(echoes({ icmpEcho: true }, both, false)).toEqual(external);
    expect(echoes({ icmpEcho: false }, both, true)).toEqual([]);
  });
});
