import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Crash } from '../moto/fake/cloud.ts';
import { isWrite } from '../../../../providers/aws/cloud/operations.ts';
import type { Node } from '../../../../src/model/objects/cluster.ts';
import { vpcId } from '../moto/fake/world.ts';
import { slice } from '../../../../test/unit/decisions/fixtures.ts';
import { classicAnnotations, maybe, nlbAnnotations } from '../support/arbitrary-services.ts';
import { acmCertificate, node, otherCertificate, type AwsServiceLiteral } from '../support/stack-fixture.ts';
import { unreachableReason, unreachableReasonByZone, type Packet } from '../support/reachability.ts';
import { ProviderFixture } from '../support/provider-fixture.ts';
import { interruptions, type Gap } from '../support/interruptions.ts';
import { runs } from '../../../../test/support/property.ts';

/** Deterministic by default. AWS_RUNS and AWS_SEED widen the search. */
const sample = { numRuns: Number(process.env['AWS_RUNS'] ?? runs(25)), seed: Number(process.env['AWS_SEED'] ?? 11) };

const client = '192.0.2.77';
/** How long clients use a published name after it changed. Herald keeps the previous load balancer for a minute. */
const cachedSeconds = 40;

/** A security group of the user's, which admits clients, and which nodes admit. */
const openGroup = 'sg-00000bbb';

/** In two zones, so that some edits leave one of them without other targets. */
const pods = ['10.0.0.5', '10.0.1.6'];

function labelled(index: number, group: string): Node {
  const plain = node(index);
  return { ...plain, metadata: { ...plain.metadata, labels: { group } } };
}

function furnished(): ProviderFixture {
  const fixture = new ProviderFixture();
  for (const [index, group] of ['a', 'b', 'b'].entries()) fixture.snapshot.upsert(labelled(index, group));
  const { world } = fixture.cloud;
  const everywhere = { FromPort: 0, ToPort: 65_535, IpRanges: [{ CidrIp: '0.0.0.0/0' }] };
  world.securityGroups.set(openGroup, {
    GroupId: openGroup,
    GroupName: 'open',
    Description: 'open',
    VpcId: vpcId,
    IpPermissions: [
      { IpProtocol: 'tcp', ...everywhere },
      { IpProtocol: 'udp', ...everywhere },
    ],
    Tags: [],
  });
  world.setTags(openGroup, [{ Key: 'Name', Value: 'open' }]);
  const nodes = world.securityGroups.get('sg-00000aaa');
  if (nodes !== undefined) nodes.IpPermissions = [{ IpProtocol: '-1', UserIdGroupPairs: [{ GroupId: openGroup }] }];
  for (const [index, PrivateIpAddress] of pods.entries())
    world.podInterfaces.push({
      NetworkInterfaceId: `eni-${index}`,
      VpcId: vpcId,
      Groups: [{ GroupId: 'sg-00000aaa' }],
      PrivateIpAddresses: [{ PrivateIpAddress }],
      Ipv6Addresses: [],
    });
  for (const kind of ['TCP', 'UDP'])
    fixture.snapshot.upsert(
      slice({
        service: 'default/web',
        name: `web-${kind}`,
        ports: ['http:8080', 'https:8443', 'alt:8444', 'dns-t:5353', 'dns-u:5353/UDP', 'game:7777/UDP'],
        endpoints: pods.map((ip, index) => `${ip}@node-${index}`),
      }),
    );
  return fixture;
}

const port = fc.constantFrom(
  'http:80/TCP@30080',
  'http:80/TCP@31080',
  'https:443/TCP@30443',
  'https:443/TCP@31443',
  'dns-u:53/UDP@30053',
  'dns-t:53/TCP@30053',
  'game:7777/UDP@30777',
);
const ports = fc.uniqueArray(port, { minLength: 1, maxLength: 4, selector: (text) => text.split('@')[0] });

const more = maybe({
  subnets: [
    'subnet-public-0,subnet-public-1',
    'subnet-private-0',
    'subnet-private-1,subnet-private-2',
    'subnet-private-0,subnet-private-2',
  ],
  'security-groups': ['open'],
  'manage-backend-security-group-rules': ['true'],
  'target-node-labels': ['group=a', 'group=b'],
  'herald.dev/aws-shared-load-balancer': ['edge'],
});
const moreOfClassic = maybe({ subnets: ['subnet-private-0', 'subnet-private-1,subnet-private-2'], 'security-groups': ['open'] });

interface Wish {
  readonly kind: 'nlb' | 'classic';
  readonly annotations: Readonly<Record<string, string>>;
  readonly ports: readonly string[];
  readonly local: boolean;
}

const annotationsOf = {
  nlb: fc.tuple(nlbAnnotations, more).map(([a, b]) => ({ ...a, ...b })),
  classic: fc.tuple(classicAnnotations, moreOfClassic).map(([a, b]) => ({ ...a, ...b })),
};

const anyWish = (kind: Wish['kind']): fc.Arbitrary<Wish> =>
  fc.record({ kind: fc.constant(kind), annotations: annotationsOf[kind], ports, local: fc.boolean() });

const few = fc.array(fc.nat(1000), { maxLength: 4 });

/** A Service and an edit of it: a few of all annotations, of which a few change, and perhaps ports and policy. */
const anyEdit = (kind: Wish['kind']): fc.Arbitrary<readonly [Wish, Wish]> =>
  fc
    .record({ one: anyWish(kind), other: anyWish(kind), first: few, next: few, parts: fc.integer({ min: 0, max: 3 }) })
    .map(({ one, other, first, next, parts }) => {
      const before = { ...one, annotations: pick(one.annotations, first) };
      const changed = pick({ ...one.annotations, ...other.annotations }, next);
      const rest = Object.entries(before.annotations).filter(([key]) => changed[key] === undefined);
      const wanted = Object.entries(other.annotations).filter(([key]) => changed[key] !== undefined);
      const after = { ...before, annotations: Object.fromEntries([...rest, ...wanted]) };
      return [before, { ...after, ...(parts % 2 === 1 ? { ports: other.ports } : {}), ...(parts > 1 ? { local: other.local } : {}) }];
    });

function pick(all: Readonly<Record<string, string>>, places: readonly number[]): Readonly<Record<string, string>> {
  const keys = Object.keys(all);
  const chosen = new Set(places.map((place) => keys[place % Math.max(1, keys.length)]));
  return Object.fromEntries(Object.entries(all).filter(([key]) => chosen.has(key)));
}

/** Mostly edits of one kind of load balancer. A change of the kind keeps the ports. */
const anyChange = fc.oneof(
  { weight: 5, arbitrary: anyEdit('nlb') },
  { weight: 3, arbitrary: anyEdit('classic') },
  {
    weight: 1,
    arbitrary: fc.tuple(anyEdit('nlb'), anyEdit('classic'), fc.boolean()).map(([[one], [other], turned]) => {
      const change = [one, { ...other, ports: one.ports }] as const;
      return turned ? ([change[1], change[0]] as const) : change;
    }),
  },
);

function literal({ kind, annotations, ports, local }: Wish): AwsServiceLiteral {
  return {
    name: 'web',
    loadBalancerClass: kind === 'nlb' ? 'herald.dev/aws' : 'herald.dev/aws-classic',
    ports,
    annotations,
    ...(local ? { externalTrafficPolicy: 'Local' as const, healthCheckNodePort: 32_000 } : {}),
  };
}

const text = ({ port, protocol }: Packet): string => `${port}/${protocol}`;

/** How a client reaches a port: by the name, or by the cached address of one zone. */
interface Way {
  readonly packet: Packet;
  readonly zone: string | undefined;
}

const textOf = ({ packet, zone }: Way): string => `${text(packet)} ${zone}`;

interface Result {
  readonly gaps: readonly Gap[];
  /** Gaps that AWS makes unavoidable. */
  readonly listed: readonly Gap[];
  readonly history: readonly string[];
  /** True when a port is served before and after. */
  readonly kept: boolean;
}

/** The gaps, and the history that led to them. */
const told = (gaps: readonly Gap[], history: readonly string[]): unknown[] => (gaps.length === 0 ? [] : [...gaps.slice(0, 3), ...history]);

/** Makes an edit and checks after every write whether each client that is served before and after it is served. */
async function edit([before, after]: readonly [Wish, Wish], crashAt?: number): Promise<Result> {
  const fixture = furnished();
  const { cloud } = fixture;
  const key = fixture.apply(literal(before));
  await fixture.run(600);
  const all = [before, after]
    .flatMap(({ ports }) => ports)
    .map((one): Packet => {
      const [, number = '', protocol = ''] = /:(\d+)\/(\w+)@/.exec(one) ?? [];
      return { from: client, port: Number(number), protocol: protocol as Packet['protocol'] };
    });
  const packets = [...new Map(all.map((packet) => [text(packet), packet])).values()];
  const now = (): string => fixture.services.get(key)?.ingress[0]?.hostname ?? 'no name';
  const reasons = (name: string): (Way & { readonly why: string | undefined })[] =>
    packets.flatMap((packet) => [
      { packet, zone: undefined, why: unreachableReason(cloud.world, name, packet) },
      ...[...unreachableReasonByZone(cloud.world, name, packet)].map(([zone, why]) => ({ packet, zone, why })),
    ]);
  const reached = (all: ReturnType<typeof reasons>): Way[] => all.filter(({ why }) => why === undefined);
  const served = reached(reasons(now()));
  const published = new Map<string, number>([[now(), Infinity]]);
  /** By host name: the ways by which clients have been served. */
  const known = new Map<string, Map<string, Way>>();
  const gaps: Gap[] = [];
  const history: string[] = [];
  let last: string = 'the edit';
  const check = (): void => {
    const time = cloud.world.now();
    const [current] = [now()];
    for (const [name, until] of published) if (name !== current && until === Infinity) published.set(name, time + cachedSeconds);
    published.set(current, Infinity);
    for (const [name, until] of published) {
      if (until < time) continue;
      const ways = known.get(name) ?? new Map(served.filter(({ zone }) => zone === undefined).map((way) => [textOf(way), way]));
      known.set(name, ways);
      const all = reasons(name);
      for (const way of reached(all)) ways.set(textOf(way), way);
      const said = new Map(all.map((way) => [textOf(way), way.why]));
      for (const [route, way] of ways) {
        const why = said.has(route) ? said.get(route) : `not in ${way.zone}`;
        if (why !== undefined)
          gaps.push({
            packet: text(way.packet),
            zone: way.zone,
            kind: cloud.world.classic.has(name.replace(/-\d+\..*/, '').replace(/^internal-/, '')) ? 'classic' : 'nlb',
            after: last,
            seconds: time,
            why: `${name}: ${why}`,
          });
      }
    }
  };
  let crashes = crashAt === undefined ? 0 : 1;
  let writes = 0;
  cloud.fault = (call) => {
    // Reads change nothing for clients.
    if (!isWrite(call.operation)) return undefined;
    check();
    last = call.operation;
    history.push(`${cloud.world.now()} ${call.operation} ${JSON.stringify(call.input)}`);
    if (crashes === 0 || writes++ !== crashAt) return undefined;
    crashes--;
    return { kind: 'crash', when: 'after' };
  };
  fixture.apply(literal(after));
  for (let step = 0; step < 90; step++) {
    try {
      await fixture.run(10);
    } catch (error) {
      if (!(error instanceof Crash)) throw error;
      fixture.restart();
    }
    check();
  }
  const still = new Set(reached(reasons(now())).map(textOf));
  const kept = new Set(served.map(textOf).filter((way) => still.has(way)));
  const isListed = (gap: Gap): boolean => interruptions.some(({ isIt }) => isIt?.(gap) === true);
  const lasting = gaps.filter(({ packet, zone }) => kept.has(`${packet} ${zone}`));
  return { gaps: lasting.filter((gap) => !isListed(gap)), listed: lasting.filter(isListed), history, kept: kept.size > 0 };
}

const web: Wish = { kind: 'nlb', annotations: {}, ports: ['http:80/TCP@30080'], local: false };
const annotated = (annotations: Wish['annotations'], ports = web.ports): Wish => ({ ...web, annotations, ports });
const tls = { 'ssl-cert': acmCertificate };

/** Each is edited and edited back. */
const edits: Readonly<Record<string, readonly [Wish, Wish]>> = {
  'another NodePort': [web, { ...web, ports: ['http:80/TCP@31080'] }],
  'a port more': [web, { ...web, ports: ['http:80/TCP@30080', 'https:443/TCP@30443'] }],
  'policy Local': [web, { ...web, local: true }],
  'the type of targets': [web, annotated({ 'nlb-target-type': 'ip' })],
  'the type of targets, with another port': [web, annotated({ 'nlb-target-type': 'ip' }, ['http:80/TCP@31080', 'https:443/TCP@30443'])],
  TLS: [web, annotated(tls)],
  'TLS with encrypted targets': [web, annotated({ ...tls, 'backend-protocol': 'ssl' })],
  'encrypted targets': [annotated(tls), annotated({ ...tls, 'backend-protocol': 'ssl' })],
  'UDP on the port of TCP': [annotated({}, ['dns-t:53/TCP@30053']), annotated({}, ['dns-t:53/TCP@30053', 'dns-u:53/UDP@30053'])],
  'the scheme': [web, annotated({ scheme: 'internet-facing' })],
  'the scheme and the type of targets': [web, annotated({ scheme: 'internet-facing', 'nlb-target-type': 'ip' })],
  'the scheme, with another NodePort': [web, annotated({ scheme: 'internet-facing' }, ['http:80/TCP@31080'])],
  'a shared load balancer': [web, annotated({ 'herald.dev/aws-shared-load-balancer': 'edge' })],
  'a shared load balancer with another type of targets': [
    web,
    annotated({ 'herald.dev/aws-shared-load-balancer': 'edge', 'nlb-target-type': 'ip' }),
  ],
  'security groups of the user': [web, annotated({ 'security-groups': 'open' })],
  'security groups of the user, with rules': [web, annotated({ 'security-groups': 'open', 'manage-backend-security-group-rules': 'true' })],
  'fewer clients': [web, annotated({ 'service.beta.kubernetes.io/load-balancer-source-ranges': '192.0.2.0/24' })],
  'one subnet of two': [
    annotated({ subnets: 'subnet-private-0,subnet-private-1' }),
    annotated({ subnets: 'subnet-private-1,subnet-private-2' }),
  ],
  'all subnets': [annotated({ subnets: 'subnet-private-0' }), annotated({ subnets: 'subnet-private-1,subnet-private-2' })],
  'subnets of one of two zones': [
    annotated({ subnets: 'subnet-private-0,subnet-private-1', 'target-node-labels': 'group=a' }),
    annotated({ subnets: 'subnet-private-0,subnet-private-2' }),
  ],
  'subnets and nodes': [
    annotated({ subnets: 'subnet-private-0', 'target-node-labels': 'group=a' }),
    annotated({ subnets: 'subnet-private-1,subnet-private-2', 'target-node-labels': 'group=b' }),
  ],
  'the scheme, subnets and nodes': [
    annotated({ subnets: 'subnet-private-0', 'target-node-labels': 'group=a' }),
    annotated({ scheme: 'internet-facing', subnets: 'subnet-public-1', 'target-node-labels': 'group=b' }),
  ],
  'subnets and the type of targets': [
    annotated({ subnets: 'subnet-private-0' }),
    annotated({ subnets: 'subnet-private-1', 'nlb-target-type': 'ip' }),
  ],
  'dual stack': [web, annotated({ 'ip-address-type': 'dualstack' })],
  'the health check': [web, annotated({ 'healthcheck-protocol': 'http', 'healthcheck-port': '31999' })],
  'nodes by their labels': [annotated({ 'target-node-labels': 'group=a' }), annotated({ 'target-node-labels': 'group=b' })],
  'the kind of load balancer': [web, { ...web, kind: 'classic' }],
  'the kind of load balancer and of targets': [annotated({ 'nlb-target-type': 'ip' }), { ...web, kind: 'classic' }],
};

/** Some zones get another subnet, which AWS can exchange only by leaving the zone. */
const exchanges: Readonly<Record<string, readonly [Wish, Wish]>> = {
  'the subnet of one zone of two': [
    annotated({ subnets: 'subnet-private-0,subnet-private-1' }),
    annotated({ subnets: 'subnet-public-0,subnet-private-1' }),
  ],
  'the subnets of all zones': [
    annotated({ subnets: 'subnet-private-0,subnet-private-1' }),
    annotated({ subnets: 'subnet-public-0,subnet-public-1' }),
  ],
  'the subnets of all zones, of which one has no targets': [
    annotated({ subnets: 'subnet-private-0,subnet-private-1,subnet-private-2', 'target-node-labels': 'group=b' }),
    annotated({ subnets: 'subnet-public-0,subnet-public-1,subnet-public-2', 'target-node-labels': 'group=b' }),
  ],
  'the subnet of one zone, and the other zone': [
    annotated({ subnets: 'subnet-private-0,subnet-private-1' }),
    annotated({ subnets: 'subnet-public-0' }),
  ],
};

const classic: Wish = { ...web, kind: 'classic' };
const classicTls = (annotations: Wish['annotations']): Wish => ({ ...classic, annotations: { ...tls, ...annotations } });

const editsOfClassic: Readonly<Record<string, readonly [Wish, Wish]>> = {
  'the certificate': [classicTls({}), classicTls({ 'ssl-cert': otherCertificate })],
  'the protocol': [classic, classicTls({ 'backend-protocol': 'http' })],
  'another NodePort': [classic, { ...classic, ports: ['http:80/TCP@31080'] }],
  'the scheme': [classic, { ...classic, annotations: { scheme: 'internet-facing' } }],
  'policy Local': [classic, { ...classic, local: true }],
  'the subnets': [
    { ...classic, annotations: { subnets: 'subnet-private-0,subnet-private-1' } },
    { ...classic, annotations: { subnets: 'subnet-private-1,subnet-private-2' } },
  ],
  'security groups of the user': [classic, { ...classic, annotations: { 'security-groups': 'open' } }],
};

describe('a reachable Service stays reachable', () => {
  test.each(Object.entries(editsOfClassic))('when %s of a Classic ELB is edited, and edited back', async (_, [one, other]) => {
    for (const change of [[one, other] as const, [other, one] as const]) {
      const { gaps, history, kept } = await edit(change);
      expect(kept).toBe(true);
      expect(told(gaps, history)).toEqual([]);
    }
  });

  test.each(Object.entries(edits))('when %s is edited, and edited back', async (_, [one, other]) => {
    for (const change of [[one, other] as const, [other, one] as const]) {
      const { gaps, listed, history, kept } = await edit(change);
      expect(kept).toBe(true);
      expect(told([...gaps, ...listed], history)).toEqual([]);
    }
  });

  test.each(Object.entries(exchanges))('by its name when %s is edited', async (_, change) => {
    const { gaps, listed, history, kept } = await edit(change);
    expect(kept).toBe(true);
    expect(told(gaps, history)).toEqual([]);
    // By the address of the zone that is left, it is not reachable.
    expect(listed.length).toBeGreaterThan(0);
  });

  test('through any edit, even an invalid one, and a crash of the controller', async () => {
    await fc.assert(
      fc.asyncProperty(anyChange, fc.option(fc.nat(20)), async (change, crashAt) => {
        const { gaps, history } = await edit(change, crashAt ?? undefined);
        expect(told(gaps, history)).toEqual([]);
      }),
      sample,
    );
  }, 120_000);

  test('except when the protocol or NodePort of a Classic ELB changes, which replaces the listener', async () => {
    for (const change of [editsOfClassic['the protocol'], editsOfClassic['another NodePort']]) {
      const { listed, history } = await edit(change ?? [web, web]);
      expect(listed.length).toBe(1);
      const at = history.findIndex((line) => /DeleteLoadBalancerListeners .*\[80,/.test(line));
      expect(history[at + 1]).toMatch(/CreateLoadBalancerListeners .*"LoadBalancerPort":80,/);
    }
  });

  test('except for the interruptions that the reference lists', () => {
    const page = readFileSync(join(import.meta.dirname, '../../../../docs/reference/aws.md'), 'utf8');
    const [, chapter = ''] = page.split('## Edits that interrupt\n');
    const rows = [...(chapter.split('\n## ')[0] ?? '').matchAll(/^\| (?!---)(.*?) \| (.*?) \|/gm)]
      .slice(1)
      .map(([, edit, why]) => ({ edit, why }));
    expect(rows).toEqual(interruptions.map(({ edit, why }) => ({ edit, why })));
  });
});
