import { describe, expect, test } from 'vitest';
import type { BalancerKind } from '../../annotations/entry.ts';
import { desireStack, stackOf } from '../../desire/stack.ts';
import type { DesiredNlb } from '../../model/desired.ts';
import { observeFacts } from '../../observe/account/facts.ts';
import { reasonText } from '../../../../src/model/reasons.ts';
import { awsMember, StackFixture } from '../support/stack-fixture.ts';
import type { Circumstances } from '../../model/circumstances.ts';

interface Case {
  readonly kind: BalancerKind;
  readonly annotations: Readonly<Record<string, string>>;
  readonly existing?: Circumstances['existing'];
}

const adoptedArn = 'arn:aws:elasticloadbalancing:us-east-1:123456789012:loadbalancer/net/theirs/1a2b';
const present = { arn: adoptedArn, scheme: 'internal', subnets: [{ SubnetId: 'subnet-private-1' }], ipAddressType: 'ipv4' } as const;
const own = { 'manage-backend-security-group-rules': 'false' };
const group = { 'security-groups': 'sg-given' };

/** Whether Herald has a group that restricts the clients, for all ways to set the security groups of a load balancer. */
const groupings: Readonly<Record<string, Case & { readonly isEnforced: boolean }>> = {
  'an own group': { kind: 'nlb', annotations: {}, isEnforced: true },
  'an own group of an existing NLB': {
    kind: 'nlb',
    annotations: {},
    existing: { nlb: { ...present, hasSecurityGroups: true } },
    isEnforced: true,
  },
  'given groups': { kind: 'nlb', annotations: group, isEnforced: false },
  'given groups whose backend is managed': {
    kind: 'nlb',
    annotations: { ...group, 'manage-backend-security-group-rules': 'true' },
    isEnforced: false,
  },
  'no groups': { kind: 'nlb', annotations: { 'disable-nlb-sg': 'true', ...own }, isEnforced: false },
  'no groups, although some are given': { kind: 'nlb', annotations: { 'disable-nlb-sg': 'true', ...own, ...group }, isEnforced: false },
  'an existing NLB without groups': {
    kind: 'nlb',
    annotations: {},
    existing: { nlb: { ...present, hasSecurityGroups: false } },
    isEnforced: false,
  },
  'an adopted NLB': {
    kind: 'nlb',
    annotations: { 'herald.dev/aws-load-balancer': adoptedArn },
    existing: { adopted: { ...present, hasSecurityGroups: true } },
    isEnforced: false,
  },
  'an adopted NLB with given groups': {
    kind: 'nlb',
    annotations: { 'herald.dev/aws-load-balancer': adoptedArn, ...group },
    existing: { adopted: { ...present, hasSecurityGroups: true } },
    isEnforced: false,
  },
  'an own group of a Classic ELB': { kind: 'classic', annotations: {}, isEnforced: true },
  'an own group of a Classic ELB and others': { kind: 'classic', annotations: { 'extra-security-groups': 'sg-given' }, isEnforced: true },
  'given groups of a Classic ELB': { kind: 'classic', annotations: group, isEnforced: false },
};

const sourceRangesKey = 'service.beta.kubernetes.io/load-balancer-source-ranges';
const prefixLists = { 'security-group-prefix-lists': 'pl-0123' };

/** What a Service may say about its clients, and the setting that restricts them. */
const sources: Readonly<Record<string, { sourceRanges?: string[]; annotations?: Record<string, string>; restricts?: string }>> = {
  nothing: {},
  'the field': { sourceRanges: ['192.0.2.0/24'], restricts: 'spec.loadBalancerSourceRanges' },
  'the field and the annotation': {
    sourceRanges: ['192.0.2.0/24'],
    annotations: { [sourceRangesKey]: '0.0.0.0/0' },
    restricts: 'spec.loadBalancerSourceRanges',
  },
  'the annotation': { annotations: { [sourceRangesKey]: '192.0.2.0/24' }, restricts: sourceRangesKey },
  'the annotation with all clients': { annotations: { [sourceRangesKey]: '192.0.2.0/24,0.0.0.0/0' } },
  'prefix lists': { annotations: prefixLists, restricts: 'service.beta.kubernetes.io/aws-load-balancer-security-group-prefix-lists' },
  'prefix lists beside all clients': { annotations: { ...prefixLists, [sourceRangesKey]: '0.0.0.0/0' } },
  'prefix lists and the field': {
    sourceRanges: ['192.0.2.0/24'],
    annotations: prefixLists,
    restricts: 'spec.loadBalancerSourceRanges',
  },
};

const table = Object.entries(groupings).flatMap(([grouping, { isEnforced, ...one }]) =>
  Object.entries(sources).map(([written, source]) => ({ grouping, written, isEnforced, ...one, source })),
);

async function circumstances(existing: Circumstances['existing'] = {}): Promise<Circumstances> {
  const { cloud, settings, nodes } = new StackFixture();
  const facts = await observeFacts(cloud, settings);
  const securityGroups = [...facts.securityGroups, { id: 'sg-given', tags: {} }];
  const checked = { slices: () => [], refusedTargets: () => [] };
  return { facts: { ...facts, securityGroups, certificates: [] }, existing, settings, nodes, ...checked };
}

describe('a Service that restricts its clients', () => {
  test.each(table)('$grouping, $written', async ({ kind, annotations, existing, source, isEnforced }) => {
    const { restricts, sourceRanges } = source;
    const ports = ['http:80/TCP@30080'];
    const literal = { name: 'web', ports, annotations: { ...annotations, ...source.annotations }, ...(sourceRanges && { sourceRanges }) };
    const member = awsMember(kind, literal);
    const { desired, errors } = desireStack(stackOf(member), [member], await circumstances(existing));
    // Prefix lists are not known for a Classic ELB.
    const isRestricted = restricts !== undefined && !(kind === 'classic' && restricts.endsWith('prefix-lists'));
    if (isEnforced || !isRestricted) {
      expect([...errors.values()]).toEqual([]);
      const { securityGroups } = desired as DesiredNlb;
      const cidrs = securityGroups.kind === 'managed' ? securityGroups.rules.map(({ source }) => JSON.stringify(source)) : [];
      if (isRestricted) expect(cidrs.length > 0 && !cidrs.some((text) => text.includes('0.0.0.0/0'))).toBe(true);
    } else {
      expect(desired).toBeUndefined();
      const [[error] = []] = errors.values();
      expect(error).toMatchObject({ code: 'AwsSourcesNotEnforced', details: { setting: restricts } });
      if (error !== undefined) expect(reasonText(error)).toContain('could not enforce it');
    }
  });

  test.each([
    ['0.0.0.0/0', ['AwsSourcesNotEnforced']],
    ['0.0.0.0/0,::/0', []],
  ])('dual stack without a group admits all of %s, and nobody less', async (ranges, codes) => {
    const annotations = { ...group, 'ip-address-type': 'dualstack', [sourceRangesKey]: ranges };
    const member = awsMember('nlb', { name: 'web', ports: ['http:80/TCP@30080'], annotations });
    const { errors } = desireStack(stackOf(member), [member], await circumstances());
    expect([...errors.values()].flat().map(({ code }) => code)).toEqual(codes);
  });

  test.each(Object.entries(groupings).filter(([, { kind }]) => kind === 'nlb'))(
    'is refused alone on a shared NLB with %s',
    async (_, one) => {
      const shared = { 'herald.dev/aws-shared-load-balancer': 'edge' };
      const first = awsMember('nlb', { name: 'first', ports: ['http:80/TCP@30080'], annotations: { ...one.annotations, ...shared } });
      const second = awsMember('nlb', { name: 'second', ports: ['x:81/TCP@30081'], annotations: shared, sourceRanges: ['192.0.2.0/24'] });
      const { desired, errors } = desireStack(stackOf(first), [first, second], await circumstances(one.existing));
      expect((desired as DesiredNlb).listeners.map(({ port }) => port)).toEqual(one.isEnforced ? [80, 81] : [80]);
      const codes = [...errors].map(([key, reasons]) => [key, ...reasons.map(({ code }) => code)]);
      expect(codes).toEqual(one.isEnforced ? [] : [['default/second', 'AwsSourcesNotEnforced']]);
    },
  );
});
