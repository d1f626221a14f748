import { describe, expect, test } from 'vitest';
import { address, formatAddress } from '../../../../src/net/address.ts';
import { frontendKey, type Backend } from '../../../../src/net/frontend.ts';
import { formatPrefix } from '../../../../src/net/prefix.ts';
import { frontendsOfAddress } from '../../../../src/decisions/forwarding/scope.ts';
import { nodeForwarding } from '../../../../src/decisions/forwarding/node.ts';
import { decideForwarding } from '../../../../src/decisions/forwarding/plan.ts';
import type { ServiceKey } from '../../../../src/model/objects/metadata.ts';
import { cluster, matching, type ClusterLiteral, type ServiceLiteral, type SliceLiteral } from '../fixtures.ts';

const backend = ({ address, port, local }: Backend): string => `${formatAddress(address)}:${port}${local ? ' local' : ''}`;

/** Prints one line a frontend: key, scope, policy, all backends | local backends. */
function plan(literal: ClusterLiteral, key: ServiceKey = 'default/web', node = 'here'): { lines: string[]; reasons: string[] } {
  const snapshot = cluster(literal);
  const service = snapshot.services.get(key);
  if (service === undefined) throw new RangeError(key);
  const { forwarding, reasons } = decideForwarding(snapshot, service, node);
  const lines = (forwarding?.frontends ?? []).map(({ match, scope, policy, backends, localBackends, sourceRanges, affinity }) =>
    [
      frontendKey(match),
      scope,
      policy,
      backends.map(backend).join(' ') || '-',
      ...(policy === 'Local' ? ['|', localBackends.map(backend).join(' ') || '-'] : []),
      ...(sourceRanges === undefined ? [] : [`from ${sourceRanges.map(formatPrefix).join()}`]),
      ...(affinity === undefined ? [] : [`sticky ${affinity.seconds}`]),
    ].join(' '),
  );
  return { lines, reasons: reasons.map(({ code }) => code) };
}

const lines = (
  service: Omit<ServiceLiteral, 'name'>,
  slices: readonly Omit<SliceLiteral, 'service'>[] = [],
  rest: ClusterLiteral = {},
): string[] =>
  plan({ ...rest, services: [{ name: 'web', ...service }], slices: slices.map((slice) => ({ ...slice, service: 'web' })) }).lines;

const two = { endpoints: ['10.1.0.2@two', '10.1.0.1@here'] };
const anyone = { externalIPPolicies: [{ cidrs: ['0.0.0.0/0', '::/0'] }] };
const all = { clusterIPs: ['10.96.0.1'], ports: ['80@30080'], assigned: ['192.0.2.1'], externalIPs: ['198.51.100.1'] } as const;

describe('the frontends of a Service', () => {
  test('every frontend uses every endpoint under policy Cluster, sorted', () => {
    const backends = '10.1.0.1:8080 local 10.1.0.2:8080';
    expect(lines(all, [two], anyone)).toEqual([
      `10.96.0.1 TCP 80 internal Cluster ${backends}`,
      `192.0.2.1 TCP 80 external Cluster ${backends}`,
      `198.51.100.1 TCP 80 external Cluster ${backends}`,
      `NodePort IPv4 TCP 30080 external Cluster ${backends}`,
    ]);
  });

  test('externalTrafficPolicy Local changes external frontends only', () => {
    expect(lines({ ...all, externalTrafficPolicy: 'Local' }, [two], anyone)).toEqual([
      '10.96.0.1 TCP 80 internal Cluster 10.1.0.1:8080 local 10.1.0.2:8080',
      '192.0.2.1 TCP 80 external Local 10.1.0.1:8080 local 10.1.0.2:8080 | 10.1.0.1:8080 local',
      '198.51.100.1 TCP 80 external Local 10.1.0.1:8080 local 10.1.0.2:8080 | 10.1.0.1:8080 local',
      'NodePort IPv4 TCP 30080 external Local 10.1.0.1:8080 local 10.1.0.2:8080 | 10.1.0.1:8080 local',
    ]);
  });

  test('internalTrafficPolicy Local changes the ClusterIP only', () => {
    expect(lines({ ...all, externalIPs: [], ports: ['80'], internalTrafficPolicy: 'Local' }, [two])).toEqual([
      '10.96.0.1 TCP 80 internal Local 10.1.0.1:8080 local 10.1.0.2:8080 | 10.1.0.1:8080 local',
      '192.0.2.1 TCP 80 external Cluster 10.1.0.1:8080 local 10.1.0.2:8080',
    ]);
  });

  test('externalTrafficPolicy does not matter without external frontends', () => {
    expect(lines({ type: 'ClusterIP', externalTrafficPolicy: 'Local', ports: ['80@30080'] }, [two])).toEqual([
      '10.96.0.1 TCP 80 internal Cluster 10.1.0.1:8080 local 10.1.0.2:8080',
    ]);
  });

  test.each([
    [
      'some of them ready',
      ['10.1.0.1@here', '10.1.0.2@two', '10.1.0.3@here draining'],
      '10.1.0.1:8080 local 10.1.0.2:8080',
      '10.1.0.1:8080 local',
    ],
    [
      'only draining',
      ['10.1.0.1@here draining', '10.1.0.2@two draining', '10.1.0.3@here notready'],
      '10.1.0.1:8080 local 10.1.0.2:8080',
      '10.1.0.1:8080 local',
    ],
    ['only remote and draining: policy Local drops', ['10.1.0.2@two draining'], '10.1.0.2:8080', '-'],
    ['none usable: refused', ['10.1.0.1@here notready', '10.1.0.2@two terminating'], '-', '-'],
    ['none at all: refused', [], '-', '-'],
  ])('the backends with endpoints, %s', (_, endpoints, backends, local) => {
    expect(
      lines({ assigned: ['192.0.2.1'], externalTrafficPolicy: 'Local', internalTrafficPolicy: 'Local' }, [{ endpoints, family: 4 }]),
    ).toEqual([`10.96.0.1 TCP 80 internal Local ${backends} | ${local}`, `192.0.2.1 TCP 80 external Local ${backends} | ${local}`]);
  });

  test('each port keeps its protocol and number', () => {
    const ports = ['tcp:53/TCP', 'udp:53/UDP', 'sctp:53/SCTP'];
    const slices = [{ ports: ['tcp:5353/TCP', 'udp:53/UDP', 'sctp:54/SCTP'], endpoints: ['10.1.0.1@two'] }];
    expect(lines({ type: 'ClusterIP', ports }, slices)).toEqual([
      '10.96.0.1 SCTP 53 internal Cluster 10.1.0.1:54',
      '10.96.0.1 TCP 53 internal Cluster 10.1.0.1:5353',
      '10.96.0.1 UDP 53 internal Cluster 10.1.0.1:53',
    ]);
  });

  test('each family has its own endpoints', () => {
    const service = { clusterIPs: ['fd96::1', '10.96.0.1'], ports: ['dns:53/UDP@30053'], assigned: ['192.0.2.1', '2001:db8::1'] };
    const slices = [
      { ports: ['dns:53/UDP'], endpoints: ['10.1.0.1@here'] },
      { ports: ['dns:53/UDP'], endpoints: ['fd01::1@two'] },
    ];
    expect(lines(service, slices)).toEqual([
      '10.96.0.1 UDP 53 internal Cluster 10.1.0.1:53 local',
      '192.0.2.1 UDP 53 external Cluster 10.1.0.1:53 local',
      '2001:db8::1 UDP 53 external Cluster fd01::1:53',
      'NodePort IPv4 UDP 30053 external Cluster 10.1.0.1:53 local',
      'NodePort IPv6 UDP 30053 external Cluster fd01::1:53',
      'fd96::1 UDP 53 internal Cluster fd01::1:53',
    ]);
  });

  test('an address outside ipFamilies is ignored', () => {
    expect(lines({ assigned: ['2001:db8::1'] }, [two])).toHaveLength(1);
  });

  test('source ranges guard load balancer addresses of their family only', () => {
    const service = {
      ...all,
      clusterIPs: ['10.96.0.1', 'fd96::1'],
      assigned: ['192.0.2.1', '2001:db8::1'],
      sourceRanges: ['203.0.113.0/24'],
    };
    const guarded = lines(service, [two], anyone).filter((line) => line.includes('from'));
    expect(guarded).toEqual(['192.0.2.1 TCP 80 external Cluster 10.1.0.1:8080 local 10.1.0.2:8080 from 203.0.113.0/24']);
  });

  test("source ranges that hold the node's address also admit the load balancer address", () => {
    const nodes = [{ name: 'here', internalIPs: ['10.0.0.1', '10.0.1.1'] }];
    const from = (range: string): string | undefined =>
      /from .*/.exec(lines({ assigned: ['192.0.2.1'], sourceRanges: [range] }, [two], { nodes })[1] ?? '')?.[0];
    expect(from('10.0.0.0/24')).toBe('from 10.0.0.0/24,192.0.2.1/32');
    expect(from('203.0.113.0/24')).toBe('from 203.0.113.0/24');
    // Only the node's primary address counts, as in kube-proxy.
    expect(from('10.0.1.0/24')).toBe('from 10.0.1.0/24');
  });

  const retainedOf = (protocol: string, endpoints: readonly string[], more: object = {}): string[] => {
    const snapshot = cluster({
      services: [{ name: 'web', ports: [`80/${protocol}`], ...more }],
      slices: [{ service: 'web', ports: [`8080/${protocol}`], endpoints }],
    });
    const service = snapshot.services.get('default/web');
    if (service === undefined) throw new RangeError('web');
    return (decideForwarding(snapshot, service, 'here').forwarding?.frontends[0]?.retained ?? []).map(backend);
  };

  test('UDP and SCTP frontends retain backends that serve but get no new connections', () => {
    const endpoints = ['10.1.0.1@here', '10.1.0.2@two draining', '10.1.0.3@two terminating', '10.1.0.4@two notready'];
    const retained = (protocol: string): string[] => retainedOf(protocol, endpoints);
    expect([retained('UDP'), retained('SCTP'), retained('TCP')]).toEqual([['10.1.0.2:8080'], ['10.1.0.2:8080'], []]);
  });

  test('under policy Cluster a UDP frontend retains a draining local backend, even if no other is ready', () => {
    const endpoints = ['10.1.0.1@here draining', '10.1.0.2@two'];
    expect(retainedOf('UDP', endpoints)).toEqual(['10.1.0.1:8080 local']);
    // Under policy Local it gets new connections.
    expect(retainedOf('UDP', endpoints, { internalTrafficPolicy: 'Local' })).toEqual([]);
  });

  test('resetOnRemoval marks TCP frontends and makes them retain serving backends', () => {
    const endpoints = ['10.1.0.1@here', '10.1.0.2@two draining'];
    const frontendsOf = (more: object) => {
      const snapshot = cluster({
        services: [{ name: 'web', ports: ['a:80/TCP', 'b:80/UDP'], ...more }],
        slices: [{ service: 'web', ports: ['a:80/TCP', 'b:80/UDP'], endpoints }],
      });
      const [web] = snapshot.services.values();
      return ((web && decideForwarding(snapshot, web, 'here').forwarding) ?? { frontends: [] }).frontends.map(
        ({ match, resetRemoved = false, retained = [] }) => `${match.protocol} ${resetRemoved} ${retained.map(backend).join()}`,
      );
    };
    expect(frontendsOf({ resetOnRemoval: true })).toEqual(['TCP true 10.1.0.2:80', 'UDP false 10.1.0.2:80']);
    expect(frontendsOf({ resetOnRemoval: false })).toEqual(['TCP false ', 'UDP false 10.1.0.2:80']);
  });

  test('an external IP equal to the load balancer address keeps its source ranges', () => {
    const service = { assigned: ['192.0.2.1'], externalIPs: ['192.0.2.1'], sourceRanges: ['203.0.113.0/24'] };
    expect(lines(service, [two], anyone).filter((line) => line.startsWith('192.0.2.1'))).toEqual([
      '192.0.2.1 TCP 80 external Cluster 10.1.0.1:8080 local 10.1.0.2:8080 from 203.0.113.0/24',
    ]);
  });

  test('affinity applies to every frontend, and all frontends of a port share it', () => {
    expect(lines({ ...all, affinitySeconds: 60 }, [two], anyone).every((line) => line.endsWith('sticky 60'))).toBe(true);
    const literal = cluster({ services: [{ name: 'web', ...all, ports: ['a:80/TCP@30080', 'b:81/TCP'], affinitySeconds: 60 }], ...anyone });
    const [web] = literal.services.values();
    const { frontends = [] } = (web && decideForwarding(literal, web, 'here').forwarding) ?? {};
    const byPort = Map.groupBy(frontends, ({ affinity }) => affinity?.servicePort);
    expect(
      byPort
        .get('default/web a TCP')
        ?.map(({ match }) => match.port)
        .every((port) => port === 80 || port === 30_080),
    ).toBe(true);
    expect(byPort.get('default/web b TCP')?.every(({ match }) => match.port === 81)).toBe(true);
    expect(byPort.size).toBe(2);
  });

  test.each([
    ['VIP', 2],
    ['Proxy', 1],
  ] as const)('an ingress address with ipMode %s', (ipMode, count) => {
    expect(
      lines(
        {
          ingress: [
            { address: address('192.0.2.1'), ipMode },
            { hostname: 'lb.example', ipMode: 'VIP' },
          ],
        },
        [two],
      ),
    ).toHaveLength(count);
  });

  test('an endpoint that two slices list is one backend', () => {
    expect(lines({ type: 'ClusterIP' }, [two, { endpoints: ['10.1.0.1@here terminating'] }])).toEqual([
      '10.96.0.1 TCP 80 internal Cluster 10.1.0.1:8080 local 10.1.0.2:8080',
    ]);
  });
});

describe('Services and addresses that are not forwarded', () => {
  test.each<[string, Omit<ServiceLiteral, 'name'>, string]>([
    ['headless', { headless: true, clusterIPs: [], ipFamilies: [4] }, 'Headless'],
    ['ExternalName', { type: 'ExternalName', clusterIPs: [] }, 'ExternalName'],
    ['another proxy', { serviceProxyName: 'mesh' }, 'OtherProxy'],
  ])('a Service is not forwarded: %s', (_, service, code) => {
    expect(plan({ services: [{ name: 'web', ...service }] })).toEqual({ lines: [], reasons: [code] });
  });

  test.each([
    ['no policy', {}, ['ExternalIPNotAllowed']],
    ['another CIDR', { externalIPPolicies: [{ cidrs: ['203.0.113.0/24'] }] }, ['ExternalIPNotAllowed']],
    [
      'another namespace',
      { externalIPPolicies: [{ cidrs: ['0.0.0.0/0'], namespaceSelector: matching({ edge: 'yes' }) }] },
      ['ExternalIPNotAllowed'],
    ],
    [
      'allowed by namespace label',
      {
        namespaces: { default: { edge: 'yes' } },
        externalIPPolicies: [{ cidrs: ['198.51.100.0/24'], namespaceSelector: matching({ edge: 'yes' }) }],
      },
      [],
    ],
    [
      'allowed by the name of the namespace',
      { externalIPPolicies: [{ cidrs: ['198.51.100.0/24'], namespaceSelector: matching({ 'kubernetes.io/metadata.name': 'default' }) }] },
      [],
    ],
  ])('external IPs: %s', (_, rest: ClusterLiteral, reasons) => {
    const result = plan({ ...rest, services: [{ name: 'web', externalIPs: ['198.51.100.1'] }] });
    expect(result.reasons).toEqual(reasons);
    expect(result.lines).toHaveLength(reasons.length === 0 ? 2 : 1);
  });
});

describe('the frontends of an address', () => {
  test('an address has the frontends of its ports and no others', () => {
    const snapshot = cluster({ services: [{ name: 'web', ports: ['http:80@30080', 'dns:53/UDP'], assigned: ['192.0.2.1'] }] });
    const service = snapshot.services.get('default/web');
    const { forwarding } = service === undefined ? {} : decideForwarding(snapshot, service, 'here');
    expect(forwarding === undefined ? [] : frontendsOfAddress(forwarding, address('192.0.2.1'))).toEqual([
      '192.0.2.1 TCP 80',
      '192.0.2.1 UDP 53',
    ]);
  });
});

describe('the forwarding of a node', () => {
  const nodes = [
    { name: 'here', internalIPs: ['10.0.0.1', '10.0.0.9', 'fd00::1'], podCIDRs: ['10.1.0.0/24', 'fd01::/64'] },
    { name: 'two', podCIDRs: ['10.1.1.0/24', '10.1.0.0/24'] },
  ];
  const show = (literal: ClusterLiteral, name = 'here') => {
    const { nodePortAddresses, podPrefixes, servicePrefixes, masqueradeBit } = nodeForwarding(cluster(literal), name);
    return {
      ports: nodePortAddresses.map(formatPrefix),
      pods: podPrefixes.map(formatPrefix),
      services: servicePrefixes.map(formatPrefix),
      masqueradeBit,
    };
  };

  test('pod prefixes come from all nodes, and NodePorts use the first address of each family', () => {
    expect(show({ nodes, config: { serviceCIDRs: ['10.96.0.0/12'] } })).toEqual({
      ports: ['10.0.0.1/32', 'fd00::1/128'],
      pods: ['10.1.0.0/24', '10.1.1.0/24', 'fd01::/64'],
      services: ['10.96.0.0/12'],
      masqueradeBit: 14,
    });
  });

  test('Service ranges come from HeraldConfig and from ServiceCIDR objects', () => {
    const serviceCIDRs = { kubernetes: ['10.96.0.0/12', 'fd96::/112'], more: ['10.200.0.0/16'] };
    expect(show({ nodes, serviceCIDRs, config: { serviceCIDRs: ['10.96.0.0/12'] } }).services).toEqual([
      '10.96.0.0/12',
      '10.200.0.0/16',
      'fd96::/112',
    ]);
  });

  test('HeraldConfig wins over the nodes', () => {
    expect(show({ nodes, config: { podCIDRs: ['10.0.0.0/8'], masqueradeBit: 3 } })).toMatchObject({
      pods: ['10.0.0.0/8'],
      masqueradeBit: 3,
    });
  });

  test('podInterfaces of HeraldConfig replace podCIDRs of nodes, and masqueradeAll is independent', () => {
    const forwarding = nodeForwarding(
      cluster({ nodes, config: { podInterfaces: ['cni0', 'cali*', 'cni0'], masqueradeAll: true } }),
      'here',
    );
    expect(forwarding).toMatchObject({ podPrefixes: [], podInterfaces: ['cali*', 'cni0'], masqueradeAll: true });
    expect(show({ nodes, config: { podInterfaces: ['cni0'], podCIDRs: ['10.0.0.0/8'] } }).pods).toEqual(['10.0.0.0/8']);
    expect(nodeForwarding(cluster({ nodes }), 'here')).not.toHaveProperty('podInterfaces');
  });

  test('connections that begin are noted unless checks are off', () => {
    const notes = (checks: 'passive' | 'active' | 'off'): unknown =>
      nodeForwarding(cluster({ nodes, config: { checks } }), 'here').notesBegun;
    expect([notes('passive'), notes('active'), notes('off')]).toEqual([true, true, undefined]);
  });

  test('nodePortAddresses of HeraldConfig replace the primary addresses', () => {
    expect(show({ nodes, config: { nodePortAddresses: ['10.0.0.0/8', '::/0', '10.0.0.0/8'] } }).ports).toEqual(['10.0.0.0/8', '::/0']);
  });

  test('an unknown node takes no NodePort traffic', () => {
    expect(show({ nodes }, 'three').ports).toEqual([]);
  });
});
