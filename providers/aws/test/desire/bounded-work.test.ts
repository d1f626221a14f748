import { beforeAll, describe, expect, test } from 'vitest';
import { expectBoundedWork, largestAnnotation, longTexts } from '../../../../test/support/bounded-work.ts';
import { limits as coreLimits } from '../../../../src/model/limits.ts';
import type { Service } from '../../../../src/model/objects/service.ts';
import { parseObject } from '../../../../src/model/parse.ts';
import { conditionText, reasonText, remedyText, type Reason } from '../../../../src/model/reasons.ts';
import { balancerPrefix, heraldPrefix, type BalancerKind } from '../../annotations/entry.ts';
import { annotationTable, familyNames, type AnnotationName } from '../../annotations/table.ts';
import { desireStack, memberOf, stackOf } from '../../desire/stack.ts';
import type { Circumstances } from '../../model/circumstances.ts';
import { targetsAnnotation } from '../../model/service-metadata.ts';
import { observeFacts } from '../../observe/account/facts.ts';
import { StackFixture } from '../support/stack-fixture.ts';

const kinds = ['nlb', 'classic'] as const;
const names = Object.keys(annotationTable) as AnnotationName[];
const families: ReadonlySet<string> = new Set(familyNames);
let circumstances: Circumstances;

beforeAll(async () => {
  const { cloud, settings, nodes } = new StackFixture();
  const facts = await observeFacts(cloud, settings);
  const others = Array.from({ length: 500 }, (_, index) => ({ id: `sg-other-${index}`, tags: { Name: `other-${index}` } }));
  const securityGroups = [...facts.securityGroups, ...others];
  const checked = { slices: () => [], refusedTargets: () => [] };
  circumstances = { facts: { ...facts, securityGroups, certificates: [] }, existing: {}, settings, nodes, ...checked };
  decide(manifest({}), 'nlb');
  decide(manifest({}), 'classic');
});

function manifest(annotations: Readonly<Record<string, string>>, spec: object = {}): object {
  const ports = [{ port: 80, nodePort: 30_080, name: 'http' }];
  const metadata = { name: 'web', namespace: 'default', uid: 'u', annotations };
  return { apiVersion: 'v1', kind: 'Service', metadata, spec: { type: 'LoadBalancer', clusterIP: '10.96.0.1', ports, ...spec } };
}

/** Does what the controller does for one Service before and after it calls AWS. Returns what it reports. */
function decide(object: object, kind: BalancerKind): readonly Reason[] {
  const { object: service } = parseObject(object);
  if (service === undefined) return [];
  const member = memberOf(service as Service, kind);
  const { errors, warnings } = desireStack(stackOf(member), [member], circumstances);
  const reported = [...errors.values(), ...warnings.values()].flat();
  for (const one of reported) for (const text of [conditionText, reasonText, remedyText]) text(one);
  return reported;
}

const keyOf = (name: AnnotationName, member: string): string => `${annotationTable[name].key}${families.has(name) ? `.${member}` : ''}`;

describe.each(kinds)('the work for a Service with a load balancer of kind %s', (kind) => {
  test.each([...names.map((name) => keyOf(name, 'TCP-80')), targetsAnnotation])('is bounded for any text of %s', (key) => {
    for (const [shape, make] of Object.entries(longTexts))
      for (const largest of [largestAnnotation, 32_000])
        expectBoundedWork(`${shape} in ${key}`, largest, (length) => {
          const object = manifest({ [key]: make(length) });
          return () => decide(object, kind);
        });
  });

  const many = (count: number, key: (index: number) => string, value: string): Record<string, string> =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [key(index), value]));

  test.each([
    ['unknown annotations of Herald', (index: number) => `${heraldPrefix}security-groups-of-others-${index}`, 'x'],
    ['unknown annotations of upstream', (index: number) => `${balancerPrefix}healthcheck-healthy-threshold${index}`, 'x'],
    ...familyNames.map((name) => [`members of ${name}`, (index: number) => keyOf(name, `TCP-${index}`), 'tcp'] as const),
    ...familyNames.map((name) => [`numbered members of ${name}`, (index: number) => keyOf(name, `${index}`), 'a=b'] as const),
  ] as const)('is bounded for a thousand %s', (what, key, value) => {
    expectBoundedWork(what, coreLimits.mapEntries, (count) => {
      const object = manifest(many(count, key, value));
      return () => decide(object, kind);
    });
  });

  test.each([
    ['ports', (size: number) => ({ ports: ports(size) })],
    ['UDP ports', (size: number) => ({ ports: ports(size).map((port) => ({ ...port, protocol: 'UDP' })) })],
    [
      'source ranges',
      (size: number) => ({ loadBalancerSourceRanges: Array.from({ length: size }, (_, index) => `10.0.${index >> 8}.${index & 255}/32`) }),
    ],
    ['a selector', (size: number) => ({ selector: many(size, (index) => `label-${index}`, 'v') })],
  ] as const)('is bounded for the largest field: %s', (what, spec) => {
    const largest = { ports: coreLimits.servicePorts, 'source ranges': coreLimits.sourceRanges }[what as 'ports'] ?? 1000;
    expectBoundedWork(what, largest, (size) => {
      const object = manifest({ 'service.beta.kubernetes.io/aws-load-balancer-ssl-ports': longTexts['numbers']?.(5000) ?? '' }, spec(size));
      return () => decide(object, kind);
    });
  });

  test('reports at most as many errors and warnings as a person reads', () => {
    const object = manifest({ [annotationTable.securityGroups.key]: longTexts['names']?.(4000) ?? '' });
    expect(decide(object, kind).length).toBeGreaterThan(0);
    expect(decide(object, kind).length).toBeLessThanOrEqual(2 * coreLimits.problemsPerObject);
  });
});

function ports(size: number): object[] {
  return Array.from({ length: size }, (_, index) => ({ name: `p${index}`, port: 1 + index, nodePort: 30_000 + index }));
}

test('an annotation that is too long is refused with its length and the limit', () => {
  const [first] = decide(manifest({ [annotationTable.securityGroups.key]: 'a,'.repeat(100_000) }), 'nlb');
  expect(first).toMatchObject({ code: 'AwsAnnotationInvalid', details: { key: annotationTable.securityGroups.key } });
  expect(JSON.stringify(first)).toMatch(/200000 characters.*32768/);
});

test('a Service with more ports than an NLB can have is refused before anything is worked out for them', () => {
  expect(decide(manifest({}, { ports: ports(51) }), 'nlb')).toMatchObject([{ code: 'AwsTooMany', details: { wanted: 51, quota: 50 } }]);
});
