import assert from 'node:assert';
import fc from 'fast-check';
import { expect } from 'vitest';
import { reasonText } from '../../../../src/model/reasons.ts';
import { slice } from '../../../../test/unit/decisions/fixtures.ts';
import type { BalancerKind } from '../../annotations/entry.ts';
import type { AwsErrorCode } from '../../cloud/error.ts';
import type { Operation } from '../../cloud/operations.ts';
import { stackOf, type Member } from '../../desire/stack.ts';
import type { StackResult } from '../../stacks/stack-result.ts';
import type { Call } from '../moto/fake/cloud.ts';
import { refusalError, refusals, type Refusal } from '../moto/fake/refusals.ts';
import { anyMember } from './arbitrary-services.ts';
import { unreachableReason, unreachableReasonByZone } from './reachability.ts';
import { acmCertificate, awsMember, otherCertificate, StackFixture } from './stack-fixture.ts';
import { worldDigest } from './world-digest.ts';
import { anyZoneEdit, zoneMember, type ZoneEdit } from './zone-edits.ts';

const stack = stackOf(awsMember('nlb', { name: 'web' }));
function account(): StackFixture {
  const aws = new StackFixture();
  for (const number of [4, 5, 6]) aws.world.allocations.add(`eipalloc-${number}`);
  aws.nodes = aws.nodes.map((one, index) => ({ ...one, metadata: { ...one.metadata, labels: index === 0 ? {} : { group: 'a' } } }));
  aws.slices = [slice({ service: 'default/web', ports: ['http:8080', 'https:8443', 'alt:8444'], endpoints: ['10.0.1.5', '10.0.1.6'] })];
  return aws;
}

/** One call of an edit, and how AWS refuses it. */
export interface RefusedEdit {
  /** The Service before, if there is one, and after. */
  readonly edit: readonly [before: Member | undefined, after: Member];
  /** The number of the call among the writes of the edit, modulo their number. */
  readonly at: number;
  /** The number of the refusal among those of the call, modulo their number. */
  readonly which: number;
  /** How often. Infinity: until it ends. */
  readonly times: number;
  /** All calls of the operation, or only those with the same input. */
  readonly scope: 'operation' | 'call';
  /** The controller restarts after so many reconciles, while the refusal lasts. Undefined: it does not. */
  readonly restartAfter: number | undefined;
}

function rareEdit(kind: BalancerKind, before: Record<string, string>, after: Record<string, string>): readonly [Member, Member] {
  const member = (annotations: Record<string, string>): Member =>
    awsMember(kind, { name: 'web', ports: ['http:80/TCP@30080'], annotations });
  return [member(before), member(after)];
}

/** Edits whose calls few other edits make. */
export const rareEdits: readonly (readonly [Operation, readonly [Member, Member]])[] = [
  ['elbv2:DeregisterTargets', rareEdit('nlb', {}, { 'target-node-labels': 'group=a' })],
  ['elbv2:ModifyListenerAttributes', rareEdit('nlb', {}, { 'listener-attributes.TCP-80': 'tcp.idle_timeout.seconds=400' })],
  [
    'elbv2:RemoveListenerCertificates',
    rareEdit('nlb', { 'ssl-cert': `${acmCertificate},${otherCertificate}` }, { 'ssl-cert': acmCertificate }),
  ],
  ['elb:DeregisterInstancesFromLoadBalancer', rareEdit('classic', {}, { 'target-node-labels': 'group=a' })],
  ['elb:AttachLoadBalancerToSubnets', rareEdit('classic', { subnets: 'subnet-public-0' }, { subnets: 'subnet-public-0,subnet-public-1' })],
  [
    'elb:DetachLoadBalancerFromSubnets',
    rareEdit('classic', { subnets: 'subnet-public-0,subnet-public-1' }, { subnets: 'subnet-public-0' }),
  ],
  ['elb:SetLoadBalancerListenerSSLCertificate', rareEdit('classic', { 'ssl-cert': acmCertificate }, { 'ssl-cert': otherCertificate })],
];

/** Two Services that differ in the zones of their load balancer, or in anything. */
const anyEdit: fc.Arbitrary<readonly [Member | undefined, Member]> = fc.oneof(
  { arbitrary: fc.tuple(fc.option(anyMember, { nil: undefined }), anyMember), weight: 3 },
  {
    arbitrary: fc.tuple(fc.constantFrom('internal' as const, 'internet-facing' as const), anyZoneEdit, anyZoneEdit).map(zoneMembers),
    weight: 1,
  },
  { arbitrary: fc.constantFrom(...rareEdits.map(([, edit]) => edit)), weight: 1 },
);

function zoneMembers([scheme, ...edits]: readonly ['internal' | 'internet-facing', ZoneEdit, ZoneEdit]): readonly [Member, Member] {
  const [before, after] = edits.map(({ numbers, zones, ...rest }) =>
    // One address for each zone: another test has the other edits.
    zoneMember(scheme, 'ids', { zones, numbers: numbers.slice(0, zones.length), ...rest }),
  );
  assert(before !== undefined && after !== undefined);
  return [before, after];
}

export const anyRefusedEdit: fc.Arbitrary<RefusedEdit> = fc.record({
  edit: anyEdit,
  at: fc.nat(200),
  which: fc.nat(40),
  times: fc.constantFrom(1, 3, Infinity),
  scope: fc.constantFrom('operation' as const, 'call' as const),
  restartAfter: fc.option(fc.integer({ min: 1, max: 20 }), { nil: undefined }),
});

const textOf = ({ operation, input }: Call): string => `${operation} ${JSON.stringify(input)}`;

/** Ports of the Service that AWS delivers to a target, by the name of any load balancer. */
function servedPorts({ world }: StackFixture, { service }: Member): string[] {
  const names = [...world.loadBalancers.values(), ...world.classic.values()].map(({ value }) => value.DNSName.toLowerCase());
  return service.ports.flatMap(({ port, protocol }) => {
    const packet = { from: '192.0.2.77', protocol: protocol === 'UDP' ? ('UDP' as const) : ('TCP' as const), port };
    const reasons = names.flatMap((name) => [
      unreachableReason(world, name, packet),
      ...unreachableReasonByZone(world, name, packet).values(),
    ]);
    return reasons.some(isDelivered) ? [`${port}/${protocol}`] : [];
  });
}

/** The rules of nodes are not part of this fixture. */
const isDelivered = (why: string | undefined): boolean => why === undefined || why === 'not admitted by any healthy target';

/** Reconciles for some time, also when nothing can be done. */
async function reconcileFor(aws: StackFixture, member: Member, passes: number, afterPass: () => void): Promise<StackResult> {
  for (let pass = 1; ; pass++) {
    const result = await aws.reconcile(stack, [member]);
    afterPass();
    // An edit may go on by another way, and then takes more time.
    if (pass >= passes && (pass >= 3 * passes || result.plan.waits.length === 0)) return result;
    aws.advance(Math.min(result.requeueSeconds, 60));
  }
}

const passes = 25;

/** The writes of the edit when AWS refuses nothing, the ports that are served before, during and after it, and the account afterwards. */
async function undisturbed({ edit: [before, after] }: RefusedEdit): Promise<{ aws: StackFixture; writes: Call[]; steady: string[] }> {
  const aws = account();
  if (before !== undefined) await aws.settle(stack, [before]);
  let steady = servedPorts(aws, after);
  const start = aws.cloud.writes.length;
  await reconcileFor(aws, after, passes, () => {
    const served = servedPorts(aws, after);
    steady = steady.filter((port) => served.includes(port));
  });
  await aws.settle(stack, [after]);
  return { aws, writes: aws.cloud.writes.slice(start), steady };
}

/** Makes the account refuse the call. Returns the times of refusal so far, and a function that ends it. */
function refuseCall(aws: StackFixture, refused: Call, refusal: Refusal, { scope, times }: RefusedEdit): { count: number; end: () => void } {
  const state = { count: 0, end: () => void (aws.cloud.fault = () => undefined) };
  aws.cloud.fault = (call) => {
    const isMeant = call.operation === refused.operation && (scope === 'operation' || textOf(call) === textOf(refused));
    return isMeant && state.count++ < times ? { kind: 'refused', refusal } : undefined;
  };
  return state;
}

/** The refusals of a call. AWS does not say that the subject of a removal is missing, or that a rule or group exists, while the fake shows the contrary. */
function refusalsOf({ operation }: Call): Refusal[] {
  const isRemoval = /:(?:Delete|Deregister|Detach|Remove|Revoke)/.test(operation);
  const isUntrue = (code: AwsErrorCode): boolean =>
    (isRemoval && code === 'notFound') || (code === 'duplicate' && operation.startsWith('ec2:'));
  return refusals.filter((one) => one.operation === operation && !isUntrue(refusalError(one).code));
}

/** Calls that concern one port. */
const ofOnePort: ReadonlySet<Operation> = new Set([
  'elbv2:CreateTargetGroup',
  'elbv2:ModifyTargetGroup',
  'elbv2:ModifyTargetGroupAttributes',
  'elbv2:RegisterTargets',
  'elbv2:CreateListener',
  'elbv2:ModifyListener',
  'elbv2:ModifyListenerAttributes',
  'elbv2:AddListenerCertificates',
]);

/** Returns actions that were not tried although nothing that they need has failed. */
function skippedWithoutCause({ execution: { outcomes } }: StackResult): string[] {
  const undone = new Set(outcomes.flatMap(({ action, result }) => (result === 'done' ? [] : [action.id])));
  return outcomes.flatMap(({ action: { id, needs, instead }, result }) =>
    result === 'skipped' && instead === undefined && !needs.some((need) => undone.has(need)) ? [id] : [],
  );
}

/** The calls that an edit makes when AWS refuses nothing, by operation: the number of the first one of each. */
export async function callsOf(edit: RefusedEdit['edit']): Promise<ReadonlyMap<Operation, number>> {
  const { writes } = await undisturbed({ edit, at: 0, which: 0, times: 1, scope: 'call', restartAfter: undefined });
  const first = new Map<Operation, number>();
  for (const [at, { operation }] of writes.entries()) if (!first.has(operation)) first.set(operation, at);
  return first;
}

/** Checks what the refusal costs, and that nothing of it is left when it ends. */
export async function checkRefusedEdit(one: RefusedEdit): Promise<void> {
  const { aws: other, writes, steady } = await undisturbed(one);
  const refused = writes[one.at % Math.max(1, writes.length)];
  if (refused === undefined) return;
  const possible = refusalsOf(refused);
  const refusal = possible[one.which % possible.length];
  if (refusal === undefined) return;
  const aws = account();
  const [before, after] = one.edit;
  if (before !== undefined) await aws.settle(stack, [before]);
  const zones = before?.kind === after.kind ? zonesOf(aws).filter((zone) => zonesOf(other).includes(zone)) : [];
  const refusing = refuseCall(aws, refused, refusal, one);
  const checkServed = (): void => {
    const served = servedPorts(aws, after);
    expect(steady.filter((port) => !served.includes(port))).toEqual([]);
  };
  if (one.restartAfter !== undefined) {
    await reconcileFor(aws, after, one.restartAfter, checkServed);
    await aws.restart(stack);
  }
  const result = await reconcileFor(aws, after, passes, checkServed);
  expect(skippedWithoutCause(result)).toEqual([]);
  if (one.times === Infinity && refusing.count > 0) expectReported({ aws, other, zones }, one, refusal, result);
  refusing.end();
  aws.advance(90_000);
  await aws.settle(stack, [after]);
  expect(worldDigest(aws.world)).toBe(worldDigest(other.world));
}

/** The zones of all load balancers. */
function zonesOf({ world }: StackFixture): string[] {
  return [...world.loadBalancers.values()].flatMap(({ value }) => value.AvailabilityZones.map(({ ZoneName }) => ZoneName));
}

function lost(aws: StackFixture, zones: readonly string[]): string[] {
  const left = zonesOf(aws);
  return zones.filter((zone) => !left.includes(zone));
}

/** Checks what is said and served while the refusal lasts. */
function expectReported(
  { aws, other, zones }: { readonly aws: StackFixture; readonly other: StackFixture; readonly zones: readonly string[] },
  { edit: [, after], scope }: RefusedEdit,
  refusal: Refusal,
  result: StackResult,
): void {
  const texts = [...result.errors.values()].flat().map(reasonText).join('\n');
  // Herald reports after some minutes what AWS is busy with.
  const isLate = result.execution.outcomes.some((one) => one.result === 'inUse');
  const isNamedOtherwise = [...result.errors.values()].flat().some(({ code }) => code === 'AwsEndpointServiceInUse');
  if (worldDigest(aws.world) !== worldDigest(other.world) && !isLate && !isNamedOtherwise) expect(texts).toContain(refusal.message);
  // A zone that the Service has kept asking for is served again, if need be as it was.
  expect(lost(aws, zones)).toEqual([]);
  if (scope !== 'call' || !ofOnePort.has(refusal.operation)) return;
  const served = servedPorts(aws, after);
  const missing = servedPorts(other, after).filter((port) => !served.includes(port));
  expect([...new Set(missing.map((port) => port.split('/')[0]))].slice(1)).toEqual([]);
}
