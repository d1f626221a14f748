import { describe, expect, test } from 'vitest';
import { decideForwarding } from '../../../../src/decisions/forwarding/plan.ts';
import { formatAddress } from '../../../../src/net/address.ts';
import { frontendKey } from '../../../../src/net/frontend.ts';
import { cluster, type ServiceLiteral } from '../fixtures.ts';

const addresses = { clusterIPs: ['10.96.0.1', 'fd96::1'], assigned: ['192.0.2.1', '2001:db8::1'], externalIPs: ['198.51.100.1'] } as const;

/** Prints "192.0.2.1 TCP 80 by 10.0.0.1" for each frontend whose address answers. */
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

describe('ICMP echo', () => {
  const both = ['10.1.0.1@here', 'fd10::1@here'];
  const external = ['192.0.2.1 TCP 80 by 10.0.0.1', '198.51.100.1 TCP 80 by 10.0.0.1', '2001:db8::1 TCP 80 by fd00::1'];

  test("external addresses with a backend answer from the node's first address of their family", () => {
    expect(echoes({}, both, true)).toEqual(external);
    expect(echoes({}, ['10.1.0.1@there'], true)).toEqual(external.slice(0, 2));
    expect(echoes({}, [], true)).toEqual([]);
    expect(echoes({}, both, true, ['10.0.0.1'])).toEqual(external.slice(0, 2));
  });

  test('an address under policy Local answers only when a backend is on the node', () => {
    expect(echoes({ externalTrafficPolicy: 'Local' }, ['10.1.0.1@here', 'fd10::1@there'], true)).toEqual(external.slice(0, 2));
  });

  test('the setting of the Service wins over HeraldConfig', () => {
    expect(echoes({}, both, false)).toEqual([]);
    expect(echoes({ icmpEcho: true }, both, false)).toEqual(external);
    expect(echoes({ icmpEcho: false }, both, true)).toEqual([]);
  });
});
