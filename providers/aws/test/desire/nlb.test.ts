import { describe, expect, test } from 'vitest';
import type { Existing } from '../../../../providers/aws/model/facts.ts';
import { slice } from '../../../../test/unit/decisions/fixtures.ts';
import { awsMember, node, settings, StackFixture } from '../support/stack-fixture.ts';
import { reasonText } from '../../../../src/model/reasons.ts';
import { stackOf, type Member } from '../../../../providers/aws/desire/stack.ts';
import { codesOf, desire } from '../support/desire-fixture.ts';

const plain = { name: 'web', ports: ['http:80/TCP@30080'] };
const internal = { scheme: 'internal' };

test.each([
  ['spec.loadBalancerIP', { requested: ['192.0.2.7'] }, 'aws-load-balancer-eip-allocations'],
  ['spec.sessionAffinity', { affinitySeconds: 10_800 }, 'stickiness.enabled=true'],
] as const)('%s has no effect, and the warning names the annotation that has', async (field, spec, instead) => {
  const { warnings } = await desire(awsMember('nlb', { ...plain, ...spec }));
  expect(codesOf(warnings)).toEqual(['AwsFieldWithoutEffect']);
  expect(JSON.stringify(warnings)).toContain(field);
  expect(JSON.stringify(warnings)).toContain(instead);
});

test.each([
  ['nlb', 'Cluster', {}, 2],
  ['nlb', 'Cluster', { 'healthcheck-protocol': 'tcp' }, 2],
  ['nlb', 'Cluster', { 'healthcheck-protocol': 'http' }, 0],
  ['nlb', 'Local', {}, 0],
  ['nlb', 'Local', { 'healthcheck-protocol': 'tcp' }, 2],
  ['classic', 'Cluster', {}, 1],
  ['classic', 'Cluster', { 'healthcheck-protocol': 'http' }, 0],
  ['classic', 'Local', {}, 0],
] as const)(
  'a path and success codes of a health check get a warning where it is no HTTP: %s, %s, %j',
  async (kind, policy, more, count) => {
    const local = policy === 'Local' ? ({ externalTrafficPolicy: 'Local', healthCheckNodePort: 32_000 } as const) : {};
    const codes = kind === 'nlb' ? { 'healthcheck-success-codes': '200' } : {};
    const { warnings } = await desire(
      awsMember(kind, { ...plain, ...local, annotations: { 'healthcheck-path': '/ready', ...codes, ...more } }),
    );
    expect(codesOf(warnings)).toEqual(Array(count).fill('AwsFieldWithoutEffect'));
    if (count > 0) expect(JSON.stringify(warnings)).toContain('aws-load-balancer-healthcheck-path');
  },
);

test.each(['', '.80'])(
  'a load balancer Service cannot use the target group of aws-target-group%s, which the error names',
  async (suffix) => {
    const group = 'arn:aws:elasticloadbalancing:eu-central-1:111122223333:targetgroup/theirs/0123456789abcdef';
    const { errors } = await desire(awsMember('nlb', { ...plain, annotations: { [`herald.dev/aws-target-group${suffix}`]: group } }));
    expect(errors).toMatchObject([{ code: 'AwsTargetGroupUnusable', details: { group } }]);
  },
);

test('an adopted NLB keeps the scheme, the subnets and the address type that its owner has chosen', async () => {
  const arn = 'arn:aws:elasticloadbalancing:us-east-1:123456789012:loadbalancer/net/theirs/1a2b';
  const owned = { scheme: 'internet-facing', subnets: [{ SubnetId: 'subnet-public-1' }], ipAddressType: 'dualstack' } as const;
  const adopted = { ...owned, arn, hasSecurityGroups: true };
  const member = awsMember('nlb', { ...plain, annotations: { 'herald.dev/aws-load-balancer': arn } });
  const { nlb } = await desire(member, { existing: { adopted } });
  expect(nlb).toMatchObject({ ...owned, adopted: arn });
});

describe('NLB health checks', () => {
  test.each([
    [
      'instance',
      'Cluster',
      { protocol: 'TCP', port: 'traffic-port', intervalSeconds: 10, timeoutSeconds: 10, healthyThreshold: 3, unhealthyThreshold: 3 },
    ],
    [
      'instance',
      'Local',
      {
        protocol: 'HTTP',
        port: 32_000,
        path: '/healthz',
        successCodes: '200-399',
        intervalSeconds: 10,
        timeoutSeconds: 6,
        healthyThreshold: 2,
        unhealthyThreshold: 2,
      },
    ],
    [
      'ip',
      'Local',
      { protocol: 'TCP', port: 'traffic-port', intervalSeconds: 10, timeoutSeconds: 10, healthyThreshold: 3, unhealthyThreshold: 3 },
    ],
  ] as const)('targets of type %s under policy %s get their default health check', async (type, externalTrafficPolicy, expected) => {
    const healthCheckNodePort = externalTrafficPolicy === 'Local' ? 32_000 : 0;
    const { nlb } = await desire(
      awsMember('nlb', { ...plain, externalTrafficPolicy, healthCheckNodePort, annotations: { 'nlb-target-type': type } }),
    );
    expect(nlb.targetGroups[0]?.healthCheck).toEqual(expected);
  });

  test('a UDP port with a TCP health check gets a warning', async () => {
    const { warnings } = await desire(awsMember('nlb', { name: 'dns', ports: ['dns:53/UDP@30053'] }));
    expect(codesOf(warnings)).toEqual(['AwsHealthCheckOnUdp']);
  });

  test('a health check port given by name uses its NodePort', async () => {
    const { nlb } = await desire(
      awsMember('nlb', {
        name: 'web',
        ports: ['http:80/TCP@30080', 'health:8086/TCP@30086'],
        annotations: { 'healthcheck-port': 'health' },
      }),
    );
    expect(nlb.targetGroups.map(({ healthCheck }) => healthCheck.port)).toEqual([30_086, 30_086]);
  });
});

describe('NLB targets', () => {
  test('instance targets are ready nodes that are neither excluded nor being removed', async () => {
    const labelled = (key: string, value: string): Parameters<typeof node>[1] => ({
      metadata: { ...node(1).metadata, labels: { [key]: value } },
    });
    const nodes = [
      node(0),
      node(1, labelled('node.kubernetes.io/exclude-from-external-load-balancers', '')),
      node(2, { toBeDeleted: true }),
      node(3, { ready: false }),
      node(4, labelled('node.kubernetes.io/exclude-from-external-load-balancers', 'false')),
      node(5, { providerID: 'gce://somewhere/else' }),
      node(6, { disrupted: true }),
    ];
    const { nlb } = await desire(awsMember('nlb', plain), { nodes });
    expect(nlb.targetGroups[0]?.targets).toEqual([
      { id: 'i-00000000', port: 30_080 },
      { id: 'i-00000004', port: 30_080 },
    ]);
    expect(nlb.targetGroups[0]?.departing).toEqual(['i-00000002', 'i-00000006']);
  });

  test('a Classic ELB also uses nodes that are not ready', async () => {
    const nodes = [node(0), node(1, { ready: false }), node(2, { toBeDeleted: true })];
    expect((await desire(awsMember('classic', plain), { nodes })).classic.instances).toEqual(['i-00000000', 'i-00000001']);
    expect((await desire(awsMember('nlb', plain), { nodes })).nlb.targetGroups[0]?.targets.map(({ id }) => id)).toEqual(['i-00000000']);
  });

  test('all instances are targets when no node is ready', async () => {
    const { nlb } = await desire(awsMember('nlb', plain), { nodes: [node(0, { ready: false }), node(1, { ready: false })] });
    expect(nlb.targetGroups[0]?.targets.length).toBe(2);
  });

  test('only nodes with the requested labels are targets', async () => {
    const nodes = [node(0), node(1, { metadata: { ...node(1).metadata, labels: { role: 'edge' } } })];
    const { nlb } = await desire(awsMember('nlb', { ...plain, annotations: { 'target-node-labels': 'role=' } }), { nodes });
    expect(nlb.targetGroups[0]?.targets).toEqual([{ id: 'i-00000001', port: 30_080 }]);
  });

  test('pod targets are ready pods, with zone "all" outside of the VPC', async () => {
    const slices = [
      slice({ service: 'web', ports: ['http:9376'], endpoints: ['10.0.1.5', '10.0.1.6 notready', '10.0.1.7 draining', '192.168.0.1'] }),
    ];
    const { nlb } = await desire(awsMember('nlb', { ...plain, annotations: { 'nlb-target-type': 'ip' } }), { slices: () => slices });
    expect(nlb.targetGroups[0]?.targets).toEqual([
      { id: '10.0.1.5', port: 9376 },
      { id: '192.168.0.1', port: 9376, availabilityZone: 'all' },
    ]);
    expect(nlb.targetGroups[0]?.departing).toEqual(['10.0.1.7']);
  });

  test('a port without NodePort is refused for instance targets but not for pods', async () => {
    const ports = ['http:80/TCP'];
    expect(codesOf((await desire(awsMember('nlb', { name: 'web', ports }))).errors)).toEqual(['AwsNodePortMissing']);
    expect(codesOf((await desire(awsMember('nlb', { name: 'web', ports, annotations: { 'nlb-target-type': 'ip' } }))).errors)).toEqual([]);
  });
});

describe('an NLB without security groups', () => {
  const without = { ...internal, 'disable-nlb-sg': 'true' };

  test('is refused, because Herald would not open the nodes for it', async () => {
    expect(codesOf((await desire(awsMember('nlb', { ...plain, annotations: without }))).errors)).toEqual(['AwsNodesNotOpened']);
  });

  test.each([
    ['the Service says that its user opens the nodes', { 'manage-backend-security-group-rules': 'false' }, {}],
    ['--aws-node-rules=leave leaves all nodes to the user', {}, { manageNodeRules: false }],
  ])('is made when %s', async (_, more, changes) => {
    const { errors, nlb } = await desire(awsMember('nlb', { ...plain, annotations: { ...without, ...more } }), {
      settings: { ...settings, ...changes },
    });
    expect([errors, nlb.securityGroups]).toEqual([[], { kind: 'none' }]);
  });
});

describe('NLB subnets', () => {
  const ids = ({ nlb }: Awaited<ReturnType<typeof desire>>): string[] => nlb.subnets.map(({ SubnetId }) => SubnetId);

  test.each([
    ['internal', ['subnet-private-0', 'subnet-private-1', 'subnet-private-2']],
    ['internet-facing', ['subnet-public-0', 'subnet-public-1', 'subnet-public-2']],
  ])('an %s NLB uses one subnet per zone, found by role tag', async (scheme, expected) => {
    expect(ids(await desire(awsMember('nlb', { ...plain, annotations: { scheme } })))).toEqual(expected);
  });

  test('an existing load balancer keeps its subnets when others are found', async () => {
    const nlb: Existing = {
      scheme: 'internal',
      subnets: [{ SubnetId: 'subnet-private-1' }],
      ipAddressType: 'ipv4',
      hasSecurityGroups: true,
    };
    expect(ids(await desire(awsMember('nlb', { ...plain, annotations: internal }), { existing: { nlb } }))).toEqual(['subnet-private-1']);
  });

  test('subnets of Local Zones are found only by a role tag', async () => {
    const subnet = { cidr: '10.0.0.0/24', availableAddresses: 100, public: false };
    const zones = ['us-east-1a', 'us-east-1-bos-1a', 'us-east-1-wl1-bos-wlz-1'];
    const find = async (tags: Record<string, string>): Promise<string[]> => {
      const subnets = zones.map((zone) => ({ ...subnet, id: `subnet-${zone}`, zone, tags }));
      const facts = { vpcCidrs: ['10.0.0.0/16'], subnets, securityGroups: [], certificates: [] };
      return ids(await desire(awsMember('nlb', { ...plain, annotations: internal }), { facts }));
    };
    expect(await find({})).toEqual(['subnet-us-east-1a']);
    expect((await find({ 'kubernetes.io/role/internal-elb': '1' })).length).toBe(3);
  });

  test('subnets are named by id or Name tag; unknown ones and two of a zone are refused', async () => {
    const named = awsMember('nlb', { ...plain, annotations: { ...internal, subnets: 'subnet-private-2, private-us-east-1a' } });
    expect(ids(await desire(named))).toEqual(['subnet-private-2', 'subnet-private-0']);
    const wrong = awsMember('nlb', { ...plain, annotations: { ...internal, subnets: 'subnet-private-2,subnet-public-2,nowhere' } });
    expect(codesOf((await desire(wrong)).errors)).toEqual(['AwsSubnetUnusable', 'AwsSubnetUnusable']);
  });

  test('each subnet takes one Elastic IP, in the order of the annotation', async () => {
    const annotations = {
      scheme: 'internet-facing',
      subnets: 'subnet-public-1,subnet-public-0',
      'eip-allocations': 'eipalloc-1,eipalloc-2',
    };
    const { nlb } = await desire(awsMember('nlb', { ...plain, annotations }));
    expect(nlb.subnets).toEqual([
      { SubnetId: 'subnet-public-1', AllocationId: 'eipalloc-1' },
      { SubnetId: 'subnet-public-0', AllocationId: 'eipalloc-2' },
    ]);
    const tooFew = awsMember('nlb', { ...plain, annotations: { ...annotations, 'eip-allocations': 'eipalloc-1' } });
    expect(codesOf((await desire(tooFew)).errors)).toEqual(['AwsAddressesDoNotFit']);
    const wrongScheme = awsMember('nlb', { ...plain, annotations: { ...annotations, scheme: 'internal' } });
    expect(codesOf((await desire(wrongScheme)).errors)).toEqual(['AwsAddressesDoNotFit']);
  });

  test('each subnet takes the private address in its CIDR, in any order', async () => {
    const annotations = { ...internal, subnets: 'subnet-private-0,subnet-private-1', 'private-ipv4-addresses': '10.0.101.9,10.0.100.9' };
    const { nlb } = await desire(awsMember('nlb', { ...plain, annotations }));
    expect(nlb.subnets.map((one) => one.PrivateIPv4Address)).toEqual(['10.0.100.9', '10.0.101.9']);
    const outside = awsMember('nlb', { ...plain, annotations: { ...annotations, 'private-ipv4-addresses': '10.0.101.9,10.0.101.10' } });
    expect(codesOf((await desire(outside)).errors)).toEqual(['AwsAddressesDoNotFit', 'AwsAddressesDoNotFit']);
  });

  test('dual stack refuses a discovered subnet without IPv6 instead of leaving its zone out', async () => {
    const account = new StackFixture();
    const subnet = account.world.subnets.get('subnet-public-1') ?? expect.unreachable('no such subnet');
    account.world.subnets.set('subnet-public-1', { ...subnet, Ipv6CidrBlockAssociationSet: [] });
    const member = awsMember('nlb', { ...plain, annotations: { scheme: 'internet-facing', 'ip-address-type': 'dualstack' } });
    const { errors } = await account.reconcile(stackOf(member), [member]);
    expect([...errors.values()].flat().map(reasonText)).toEqual([
      'subnet subnet-public-1 of zone us-east-1b has no IPv6 CIDR, but dual stack requires one',
    ]);
    expect(account.cloud.writes).toEqual([]);
  });

  test.each([
    ['2001:db8::/80', []],
    ['auto_assigned', []],
    ['2001:db8:0:1::/80', ['AwsAddressesDoNotFit']],
    ['2001:db8::/64', ['AwsAnnotationInvalid']],
    ['2001:db8:::/80', ['AwsAnnotationInvalid']],
    ['2001:db8:0:12345::/80', ['AwsAnnotationInvalid']],
  ])('a source NAT prefix %s is a valid /80 in the IPv6 CIDR of its subnet', async (prefix, codes) => {
    const annotations = {
      'ip-address-type': 'dualstack',
      'enable-prefix-for-ipv6-source-nat': 'on',
      'source-nat-ipv6-prefixes': prefix,
      subnets: 'six',
    };
    const subnet = { id: 'subnet-6', zone: 'us-east-1a', cidr: '10.0.0.0/24', ipv6Cidr: '2001:db8::/64', public: false };
    const facts = {
      vpcCidrs: ['10.0.0.0/16'],
      subnets: [{ ...subnet, availableAddresses: 100, tags: { Name: 'six' } }],
      securityGroups: [],
      certificates: [],
    };
    expect(codesOf((await desire(awsMember('nlb', { ...plain, annotations }), { facts })).errors)).toEqual(codes);
  });
});

describe('the PROXY protocol', () => {
  test('the PROXY protocol is off unless requested for all or for some ports', async () => {
    const on = async (annotations: Record<string, string>): Promise<(string | undefined)[]> => {
      const { nlb } = await desire(awsMember('nlb', { name: 'web', ports: ['a:80/TCP@30080', 'b:443/TCP@30443'], annotations }));
      return nlb.targetGroups
        .map(({ port, attributes }) => (attributes['proxy_protocol_v2.enabled'] === 'true' ? `${port}` : undefined))
        .filter(Boolean);
    };
    expect(await on({})).toEqual([]);
    expect(await on({ 'proxy-protocol': '*' })).toEqual(['30443', '30080']);
    expect(await on({ 'proxy-protocol-per-target-group': '443', 'target-group-attributes': 'proxy_protocol_v2.enabled=true' })).toEqual([
      '30443',
    ]);
    expect(await on({ 'target-group-attributes.80': 'proxy_protocol_v2.enabled=true' })).toEqual(['30080']);
  });
});

describe('client rules of an NLB', () => {
  const rules = async (changes: Parameters<typeof awsMember>[1]): Promise<string[]> => {
    const { nlb } = await desire(awsMember('nlb', changes));
    const groups = nlb.securityGroups;
    return groups.kind === 'managed'
      ? groups.rules.map(
          ({ protocol, from, to, source }) => `${protocol} ${from}-${to} ${source.kind === 'cidr' ? source.cidr : source.id}`,
        )
      : [groups.kind];
  };

  test('source ranges come from the field, else from the annotation, else allow all clients', async () => {
    const annotations = { 'service.beta.kubernetes.io/load-balancer-source-ranges': '192.0.2.0/24' };
    expect(await rules(plain)).toEqual(['tcp 80-80 0.0.0.0/0']);
    expect(await rules({ ...plain, annotations })).toEqual(['tcp 80-80 192.0.2.0/24']);
    expect(await rules({ ...plain, annotations, sourceRanges: ['198.51.100.0/24'] })).toEqual(['tcp 80-80 198.51.100.0/24']);
  });

  test('only the prefix list may connect when no source range is given', async () => {
    expect(await rules({ ...plain, annotations: { 'security-group-prefix-lists': 'pl-1' } })).toEqual(['tcp 80-80 pl-1']);
  });

  test('adjacent ports share a rule, and no rule opens other ports', async () => {
    const ports = ['a:80/TCP@30080', 'b:81/TCP@30081', 'c:83/TCP@30083', 'd:53/UDP@30053', 'e:53/TCP@30053'];
    expect(await rules({ name: 'web', ports })).toEqual([
      'tcp 53-53 0.0.0.0/0',
      'tcp 80-81 0.0.0.0/0',
      'tcp 83-83 0.0.0.0/0',
      'udp 53-53 0.0.0.0/0',
    ]);
  });

  test('more rules than the quota cause a warning and no error', async () => {
    const sourceRanges = Array.from({ length: 61 }, (_, index) => `10.${index}.0.0/16`);
    const { errors, warnings } = await desire(awsMember('nlb', { ...plain, sourceRanges }));
    expect([errors, warnings]).toMatchObject([
      [],
      [{ code: 'AwsAboveQuota', details: { what: 'rules in its security group', quota: 60 } }],
    ]);
  });
});

test('51 listeners are refused before any call', async () => {
  const ports = Array.from({ length: 51 }, (_, index) => `${1000 + index}/TCP@${30_000 + index}`);
  expect((await desire(awsMember('nlb', { name: 'game', ports }))).errors).toMatchObject([
    { code: 'AwsTooMany', details: { what: 'listeners', wanted: 51, quota: 50 } },
  ]);
});

test.each(['nlb', 'classic'] as const)(
  'more than 50 tags, including default tags and our own, are refused before any call (%s)',
  async (kind) => {
    const tags = (count: number, name: string): Record<string, string> =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`${name}${index}`, 'x']));
    const text = (count: number): string =>
      Object.entries(tags(count, 'own'))
        .map((entry) => entry.join('='))
        .join(',');
    const member = (count: number): Member => awsMember(kind, { ...plain, annotations: { 'additional-resource-tags': text(count) } });
    const circumstances = { settings: { ...settings, defaultTags: tags(20, 'all') } };
    // Besides the requested tags there are two notes of their keys, the tags of ownership, and two tags that may be added later.
    expect((await desire(member(22), circumstances)).errors).toEqual([]);
    expect((await desire(member(30), circumstances)).errors).toMatchObject([{ code: 'AwsTooMany', details: { what: 'tags', quota: 50 } }]);
  },
);

test('an NLB created without security groups stays without, and a warning says so', async () => {
  const nlb: Existing = { scheme: 'internet-facing', subnets: [], ipAddressType: 'ipv4', hasSecurityGroups: false };
  const { nlb: desired, warnings } = await desire(awsMember('nlb', plain), { existing: { nlb } });
  expect(desired.securityGroups).toEqual({ kind: 'none' });
  expect(codesOf(warnings)).toEqual(['AwsSecurityGroupsFixed']);
});

test('an IPv6 Service gets a dual-stack NLB with IPv6 targets', async () => {
  const { nlb } = await desire(awsMember('nlb', { ...plain, clusterIPs: ['2001:db8::1'] }));
  expect([nlb.ipAddressType, nlb.targetGroups[0]?.ipAddressType]).toEqual(['dualstack', 'ipv6']);
  const four = awsMember('nlb', { ...plain, clusterIPs: ['2001:db8::1'], annotations: { 'ip-address-type': 'ipv4' } });
  expect(codesOf((await desire(four)).errors)).toEqual(['AwsSettingsConflict']);
});
