import { addBuiltInProviders } from '../../../../test/support/built-in-providers.ts';
import { describe, expect, test } from 'vitest';
import { balancerPrefix, legacyPrefix, type AnnotationEntry } from '../../../../providers/aws/annotations/entry.ts';
import { readAnnotations } from '../../../../providers/aws/annotations/read.ts';
import { map } from '../../../../providers/aws/annotations/value-types.ts';
import { annotationTable, familyNames } from '../../../../providers/aws/annotations/table.ts';
import { reasonText } from '../../../../src/model/reasons.ts';

addBuiltInProviders();

const entries: readonly (readonly [string, AnnotationEntry<unknown>])[] = Object.entries(annotationTable);
const codes = (reasons: readonly { readonly code: string }[]): string[] => reasons.map(({ code }) => code);

/** A valid and an invalid text for each annotation. null: every text is valid. */
const samples: Readonly<Record<keyof typeof annotationTable, readonly [string, string | null]>> = {
  type: ['external', null],
  targetType: ['ip', 'pods'],
  name: ['my-balancer', 'a'.repeat(33)],
  scheme: ['Internal', 'public'],
  internal: ['0.0.0.0/0', null],
  ipAddressType: ['dualstack', 'ipv6'],
  subnets: ['subnet-1, subnet-2', ' , '],
  eipAllocations: ['eipalloc-1', ','],
  privateIPv4: ['10.0.0.1,10.0.1.1', '10.0.0.300'],
  ipv6Addresses: ['2001:db8::1', '10.0.0.1'],
  ipv6SourceNat: ['on', 'yes'],
  sourceNatPrefixes: ['auto_assigned,2001:db8::/80', '2001:db8::/64'],
  attributes: ['load_balancing.cross_zone.enabled=true', 'load_balancing'],
  accessLog: ['true', 'yes'],
  accessLogBucket: ['logs', null],
  accessLogPrefix: ['web', null],
  accessLogInterval: ['60', '90'],
  crossZone: ['T', 'on'],
  drainingEnabled: ['1', '2'],
  drainingTimeout: ['300', '0'],
  idleTimeout: ['4000', '4001'],
  tags: ['team=a,cost=b', 'herald.dev/cluster=mine'],
  securityGroups: ['sg-1,Name of one', ','],
  extraSecurityGroups: ['sg-1', ','],
  manageBackendRules: ['false', 'no'],
  sourceRanges: ['192.0.2.0/24, 2001:db8::/32', '192.0.2.0'],
  prefixLists: ['pl-1', 'sg-1'],
  privateLinkRules: ['off', 'false'],
  pathMtuDiscovery: ['on', '1'],
  disableSecurityGroups: ['true', 'maybe'],
  targetNodeLabels: ['role=edge,zone=', '=edge'],
  multiCluster: ['true', 'yes'],
  capacityUnits: ['CapacityUnits=1', 'CapacityUnits=1,Zones=2'],
  certificates: ['arn:aws:acm:us-east-1:123456789012:certificate/1,arn:aws:iam::123456789012:server-certificate/x', 'my-certificate'],
  sslPorts: ['https, 8443', ','],
  sslPolicy: ['ELBSecurityPolicy-2016-08', null],
  backendProtocol: ['HTTPS', 'grpc'],
  alpnPolicy: ['http2preferred', 'h2'],
  tcpUdp: ['false', 'x'],
  proxyProtocol: ['*', 'true'],
  proxyProtocolPorts: ['80, 443', 'http'],
  listenerAttributes: ['tcp.idle_timeout.seconds=400', '400'],
  targetGroupAttributes: ['preserve_client_ip.enabled=false', 'preserve_client_ip.enabled=no'],
  targetGroupAttributesOfPort: ['stickiness.enabled=true', 'stickiness'],
  healthCheckProtocol: ['http', 'icmp'],
  healthCheckPort: ['traffic-port', null],
  healthCheckPath: ['/ready', null],
  healthCheckInterval: ['300', '4'],
  healthCheckTimeout: ['2', '1'],
  healthyThreshold: ['10', '11'],
  unhealthyThreshold: ['2', '1'],
  successCodes: ['200-204', null],
  quicPorts: ['443', ','],
  weightedActions: ['{"type": "forward", "forwardConfig": {"targetGroups": []}}', '{}'],
  certificateOfPort: ['arn:aws:acm:eu-west-1:123456789012:certificate/1', 'one'],
  backendProtocolOfPort: ['ssl', 'tls'],
  certificateHosts: ['www.example.com, *.example.org', 'not a host'],
  sharedWith: ['shop/edge', 'a b'],
  sharedNamespaces: ['shop, *', 'a/b'],
  adopt: ['my-nlb', null],
  foreignListeners: ['remove', 'delete'],
  disown: ['true', 'maybe'],
  targetGroup: ['arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/shop/1a', 'shop'],
  targetGroupOfPort: ['arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/shop/1a', 'arn'],
  targetGroupNamespaces: ['shop, default', 'a/b'],
  albTarget: ['shop', 'arn:aws:elasticloadbalancing:us-east-1:123456789012:loadbalancer/net/shop/1'],
  albTargetOfPort: ['arn:aws:elasticloadbalancing:us-east-1:123456789012:loadbalancer/app/shop/1a', 'a shop'],
  endpointService: ['true', 'maybe'],
  acceptanceRequired: ['false', 'no'],
  allowedPrincipals: ['arn:aws:iam::123456789012:root, *', '123456789012'],
  privateDnsName: ['shop.example.com', 'Shop'],
  endpointIpTypes: ['ipv4,ipv6', 'dualstack'],
};

describe.each(entries)('annotation %s', (name, entry) => {
  const [valid, invalid] = samples[name as keyof typeof annotationTable];
  const key = entry.family === undefined ? entry.key : `${entry.key}.80`;

  test.each(['nlb', 'classic'] as const)('readAnnotations accepts the valid and refuses the invalid text for kind %s', (kind) => {
    const good = readAnnotations({ [key]: valid }, kind);
    const bad = invalid === null ? undefined : readAnnotations({ [key]: invalid }, kind);
    expect(codes(good.errors)).toEqual([]);
    if (entry.kinds.includes(kind)) {
      expect(codes(good.warnings)).toEqual([]);
      const value = good.values[name as keyof typeof annotationTable];
      expect(value instanceof Map ? value.get('80') : value).toBeDefined();
      if (bad !== undefined) expect(codes(bad.errors)).toEqual(['AwsAnnotationInvalid']);
    } else {
      expect(codes(good.warnings)).toEqual([entry.kinds.length === 0 ? 'AwsAnnotationUnsupported' : 'AwsAnnotationWithoutEffect']);
    }
  });
});

test('familyNames lists exactly the entries of the table with a family', () => {
  expect(entries.filter(([, { family }]) => family !== undefined).map(([name]) => name)).toEqual(familyNames);
});

test('readAnnotations reports all errors at once, sorted by key', () => {
  const { errors } = readAnnotations(
    { [`${balancerPrefix}scheme`]: 'public', [`${balancerPrefix}attributes`]: 'x', [`${balancerPrefix}ssl-cert`]: 'y' },
    'nlb',
  );
  expect(errors.map(({ details }) => (details as { key: string }).key.replace(balancerPrefix, ''))).toEqual([
    'attributes',
    'scheme',
    'ssl-cert',
  ]);
});

test('a key with a stray "=" gets a warning that names the correct key', () => {
  const key = `${balancerPrefix}backend-protocol=`;
  const { errors, warnings, values } = readAnnotations({ [key]: 'http' }, 'classic');
  expect([errors, values.backendProtocol]).toEqual([[], undefined]);
  expect(warnings.map(reasonText)).toEqual([`annotation "${key}" has no effect: the "=" does not belong to its name`]);
});

test('an unknown key gets a warning with the probable key; foreign keys get none', () => {
  const written = {
    [`${balancerPrefix}ssl-certs`]: 'x',
    'herald.dev/aws-disowned': 'true',
    [`${legacyPrefix}other`]: 'x',
    'example.com/aws-load-balancer-x': 'y',
  };
  const { warnings } = readAnnotations(written, 'nlb');
  expect(warnings).toMatchObject([
    { code: 'AwsAnnotationUnknown', details: { key: 'herald.dev/aws-disowned', meant: 'herald.dev/aws-disown' } },
    { code: 'AwsAnnotationUnknown', details: { meant: `${balancerPrefix}ssl-cert` } },
  ]);
});

test.each([
  ['vpc-id', ''],
  ['shared', ''],
  ['healthy-threshold', 'healthcheck-healthy-threshold'],
  ['unhealthy-threshold', 'healthcheck-unhealthy-threshold'],
  ['healthcheck-healthy-treshold', 'healthcheck-healthy-threshold'],
  ['eip-allocation', 'eip-allocations'],
  ['sheme', 'scheme'],
])('an unknown key that ends with %s means "%s"', (rest, meant) => {
  const { warnings } = readAnnotations({ [`${balancerPrefix}${rest}`]: 'x' }, 'nlb');
  expect(warnings).toMatchObject([{ code: 'AwsAnnotationUnknown', details: { meant: meant === '' ? '' : `${balancerPrefix}${meant}` } }]);
});

describe('a tag that AWS or Herald reserves is refused', () => {
  const key = `${balancerPrefix}additional-resource-tags`;
  test.each(['aws:x', 'AWS:x', 'Aws:cloudformation:stack-name', 'herald.dev/cluster', 'Herald.Dev/cluster', 'HERALD.DEV/NAMESPACES'])(
    '%s',
    (tag) => {
      expect(readAnnotations({ [key]: `team=shop,${tag}=1` }, 'nlb').errors).toMatchObject([
        { code: 'AwsAnnotationInvalid', details: { key, problem: `has ${tag}, which a Service must not set` } },
      ]);
    },
  );

  test.each(['awsome', 'my-herald.dev/x', 'x-aws:y'])('%s is not reserved', (tag) => {
    expect(readAnnotations({ [key]: `${tag}=1` }, 'nlb').errors).toEqual([]);
  });
});

test.each([
  ['k=v,k2=v2', { k: 'v', k2: 'v2' }],
  ['k=v=w', { k: 'v=w' }],
  [' k = v , k2=', { k: 'v', k2: '' }],
  ['k=a,b', { k: 'a,b' }],
  [String.raw`k=a\,b=c,d=e`, { k: 'a,b=c', d: 'e' }],
])('the key=value list %s is read as upstream reads it', (text, expected) => {
  expect(map.read(text)).toEqual({ ok: true, value: expected });
});

test.each(['target-group-attributes', 'attributes', 'listener-attributes.TCP-80', 'target-group-attributes.80'])(
  'a part of %s without "=" is an error, and a comma can be escaped',
  (key) => {
    const read = (text: string): unknown =>
      readAnnotations({ [`${balancerPrefix}${key}`]: text }, 'nlb').errors.map(({ details }) => (details as { problem: string }).problem);
    expect(read('deregistration_delay.timeout_seconds=1, malformed')).toEqual(['has "malformed", which is not key=value']);
    expect(read(String.raw`access_logs.s3.prefix=a\,b`)).toEqual([]);
  },
);

test.each(['nlb', 'classic'] as const)('empty values of all annotations count as absent for kind %s', (kind) => {
  const empty = Object.fromEntries(entries.map(([, { key, family }]) => [family === undefined ? key : `${key}.80`, ' ']));
  expect(readAnnotations(empty, kind)).toEqual(readAnnotations({}, kind));
});

/** The keys of upstream without their common prefix, copied from upstream's documentation and not from the table. */
const lbc = `type nlb-target-type name scheme internal ip-address-type subnets eip-allocations private-ipv4-addresses ipv6-addresses
  enable-prefix-for-ipv6-source-nat source-nat-ipv6-prefixes attributes access-log-enabled access-log-s3-bucket-name access-log-s3-bucket-prefix
  cross-zone-load-balancing-enabled listener-attributes target-group-attributes proxy-protocol proxy-protocol-per-target-group ssl-cert ssl-ports
  ssl-negotiation-policy backend-protocol alpn-policy healthcheck-protocol healthcheck-port healthcheck-path healthcheck-interval
  healthcheck-timeout healthcheck-healthy-threshold healthcheck-unhealthy-threshold healthcheck-success-codes target-node-labels
  additional-resource-tags security-groups manage-backend-security-group-rules security-group-prefix-lists
  inbound-sg-rules-on-private-link-traffic enable-icmp-for-path-mtu-discovery disable-nlb-sg enable-tcp-udp-listener quic-enabled-ports
  multi-cluster-target-group minimum-load-balancer-capacity`;
const cpa = `type internal ssl-cert ssl-ports ssl-negotiation-policy backend-protocol proxy-protocol additional-resource-tags access-log-enabled
  access-log-s3-bucket-name access-log-s3-bucket-prefix access-log-emit-interval connection-draining-enabled connection-draining-timeout
  connection-idle-timeout cross-zone-load-balancing-enabled security-groups extra-security-groups subnets healthcheck-protocol healthcheck-port
  healthcheck-path healthcheck-interval healthcheck-timeout healthcheck-healthy-threshold healthcheck-unhealthy-threshold
  target-group-attributes eip-allocations private-ipv4-addresses target-node-labels`;
test.each([
  ['role=edge', { role: 'edge' }],
  ['role=edge, zone=, spot', { role: 'edge', zone: '', spot: '' }],
  ['spot', { spot: '' }],
])('the node label list %s is read as the cloud provider AWS reads it', (text, labels) => {
  expect(readAnnotations({ [`${balancerPrefix}target-node-labels`]: text }, 'nlb')).toMatchObject({
    values: { targetNodeLabels: labels },
    errors: [],
  });
});

const whole = (list: string): string[] => list.split(/\s+/).map((suffix) => `${balancerPrefix}${suffix}`);

test.each([
  ['lbc' as const, [...whole(lbc), `${legacyPrefix}load-balancer-source-ranges`, `${legacyPrefix}actions`]],
  ['cpa' as const, [...whole(cpa), `${legacyPrefix}load-balancer-source-ranges`]],
])('the table states a fidelity for exactly the annotations of %s', (upstream, keys) => {
  const said = new Set(entries.filter(([, entry]) => entry[upstream] !== undefined).map(([, { key }]) => key));
  expect([...said].toSorted()).toEqual(keys.toSorted());
});
