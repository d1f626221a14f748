import { defined } from '../../../src/lang/defined.ts';
import { inOrderOfCreation } from '../../../src/decisions/allocation/order.ts';
import { serviceKey, type ServiceKey } from '../../../src/model/objects/metadata.ts';
import { reason, type Reason } from '../../../src/model/reasons.ts';
import type { Service } from '../../../src/model/objects/service.ts';
import type { Snapshot } from '../../../src/model/store/snapshot.ts';
import type { BalancerKind } from '../annotations/entry.ts';
import { annotationTable } from '../annotations/table.ts';
import { readAnnotations, type ReadAnnotations } from '../annotations/read.ts';
import type { Scheme } from '../cloud/elbv2.ts';
import type { Desired, DesiredClassic, DesiredNlb } from '../model/desired.ts';
import { foreignFinalizerOf, hasOurFinalizer } from '../model/service-metadata.ts';
import type { AwsSettings } from '../model/settings.ts';
import type { Circumstances, StackIdentity } from '../model/circumstances.ts';
import { decideAwsClaim, upstreamIsPublic } from './claim.ts';
import { desireClassic } from './classic.ts';
import { Issues } from '../model/issues.ts';
import {
  checkPolicy,
  usesOfAlbs,
  usesOfCertificates,
  usesOfClassic,
  usesOfGuest,
  usesOfSettings,
  usesOfShell,
  usesOfTags,
  usesOfWeights,
} from './policies/check-policy.ts';
import { policyOf, withRefusedSubnets, type NamespacePolicy } from './policies/namespace-policy.ts';
import { joinsTargetGroups } from './ports/joined-groups.ts';
import { defaultScheme } from './scheme.ts';
import { nlbShell } from './nlb-shell.ts';
import { assembleNlb, nlbPart, targetTypeOf, type NlbPart } from './nlb.ts';

/** A Service that belongs to a stack, with its annotations read. */
export interface Member extends ReadAnnotations {
  readonly service: Service;
  readonly kind: BalancerKind;
  /** The uses of AWS that HeraldConfig allows its namespace. Absent: all. */
  readonly policy?: NamespacePolicy;
}

export function memberOf(service: Service, kind: BalancerKind): Member {
  return { service, kind, ...readAnnotations(service.metadata.annotations, kind) };
}

export function stackOf({ service, kind, values }: Member): StackIdentity {
  const { namespace, name } = service.metadata;
  const shared = kind === 'nlb' ? values.sharedWith : undefined;
  if (shared === undefined) return { key: `${namespace}/${name}`, namespace, name };
  const [text = '', home = namespace] = shared.split('/').toReversed();
  return { key: `shared:${home}/${text}`, namespace: home, name: text };
}

/** True if the Service has joined, or wants to join, a shared load balancer of another namespace. */
export function isGuest(stack: string, service: ServiceKey): boolean {
  return stack.startsWith('shared:') && namespaceOf(stack) !== namespaceOf(service);
}

function namespaceOf(key: string): string {
  return key.replace(/^shared:/, '').split('/')[0] ?? '';
}

/** True when the Service asks for pods as targets. */
export function wantsPods({ kind, values }: Member, settings: AwsSettings): boolean {
  return kind === 'nlb' && targetTypeOf(values, settings) === 'ip';
}

/**
 * The current members of a stack. The first one decides about the load balancer itself; those of other namespaces come last. Services that
 * are deleted, disowned or left to another controller are not members.
 */
export function membersOf(stack: string, snapshot: Snapshot, settings: AwsSettings): Member[] {
  const candidates = stack.startsWith('shared:')
    ? [...snapshot.services.values()].filter(({ metadata }) => metadata.annotations[annotationTable.sharedWith.key] !== undefined)
    : [snapshot.services.get(stack as ServiceKey)];
  const members = candidates.flatMap((service): Member[] => {
    if (service === undefined || service.metadata.deleting || isLeftToOther(service)) return [];
    const claim = decideAwsClaim(service, snapshot.config, settings);
    if (!claim.mine) return [];
    const member = memberOf(service, claim.kind);
    const isMember = stackOf(member).key === stack && member.values.disown !== true;
    return isMember ? [{ ...member, ...defined({ policy: policyOf(service.metadata.namespace, snapshot) }) }] : [];
  });
  const order = inOrderOfCreation(
    members.map(({ service }) => serviceKey(service.metadata)),
    snapshot,
  );
  const byKey = new Map(members.map((member) => [serviceKey(member.service.metadata), member]));
  const ordered = [...order].flatMap((key) => byKey.get(key) ?? []);
  const isOfOther = ({ service }: Member): boolean => isGuest(stack, serviceKey(service.metadata));
  return [...ordered.filter((one) => !isOfOther(one)), ...ordered.filter(isOfOther)];
}

/** True when another controller serves the Service, and Herald has made nothing for it. */
function isLeftToOther(service: Service): boolean {
  return foreignFinalizerOf(service) !== undefined && !hasOurFinalizer(service);
}

export interface StackOutcome {
  /** Absent: the desired state is unknown, and nothing may change. */
  readonly desired?: Desired;
  /** By Service: the reasons why its part stays unchanged. */
  readonly errors: ReadonlyMap<ServiceKey, readonly Reason[]>;
  readonly warnings: ReadonlyMap<ServiceKey, readonly Reason[]>;
}

/**
 * Computes the desired state of a stack from its members. There must be at least one. Existing parts of the `absent` Services are kept. A
 * pure function.
 */
export function desireStack(
  stack: StackIdentity,
  members: readonly Member[],
  given: Circumstances,
  absent: readonly ServiceKey[] = [],
): StackOutcome {
  const found: Found = { errors: new Map(), warnings: new Map() };
  const [first, ...others] = members;
  if (first === undefined) return found;
  if (isGuest(stack.key, serviceKey(first.service.metadata))) {
    for (const guest of members) {
      const own = issuesOf(guest);
      own.error(notAdmitted(stack, guest));
      note(found, guest, own);
    }
    return found;
  }
  const issues = issuesOf(first);
  const circumstances = { ...given, facts: withRefusedSubnets(given.facts, first.policy) };
  const input = { stack, first, others, absent, circumstances, issues };
  const desired = first.kind === 'classic' ? desireOwnClassic(input) : desireSharedNlb(input, found);
  note(found, first, issues);
  return issues.errors.length > 0 || desired === undefined ? found : { desired, ...found };
}

interface Found {
  readonly errors: Map<ServiceKey, readonly Reason[]>;
  readonly warnings: Map<ServiceKey, readonly Reason[]>;
}

function note({ errors, warnings }: Found, { service }: Member, issues: Issues): void {
  const key = serviceKey(service.metadata);
  if (issues.errors.length > 0) errors.set(key, issues.errors);
  if (issues.warnings.length > 0) warnings.set(key, issues.warnings);
}

interface DesireInput {
  readonly stack: StackIdentity;
  /** The member that decides about the load balancer. */
  readonly first: Member;
  readonly others: readonly Member[];
  readonly absent: readonly ServiceKey[];
  readonly circumstances: Circumstances;
  /** The issues of the first member. */
  readonly issues: Issues;
}

function desireOwnClassic({ stack, first, circumstances, issues }: DesireInput): DesiredClassic {
  const desired = desireClassic(first, stack, circumstances, issues);
  const uses = usesOfClassic(first.values, desired, schemeByDefault(first, circumstances));
  checkPolicy(first.policy, [...uses, ...usesOfTags(first.values), ...usesOfSettings(first.values)], issues);
  return desired;
}

/** Returns undefined when an error of the first member concerns all. */
function desireSharedNlb({ stack, first, others, absent, circumstances, issues }: DesireInput, found: Found): DesiredNlb | undefined {
  const shell = nlbShell(first, stack, circumstances, issues);
  const firstPart = nlbPart({ member: first, stack, shell, others: [], circumstances, issues });
  const ofShell = usesOfShell(first.values, shell, schemeByDefault(first, circumstances));
  const uses = [...ofShell, ...usesOfSettings(first.values), ...usesOfPart(first, firstPart)];
  checkPolicy(first.policy, uses, issues);
  if (issues.errors.length > 0) {
    for (const other of others) {
      const what = 'its settings are not valid, so nothing is changed';
      const elsewhere = reason('AwsSharedElsewhere', { other: serviceKey(first.service.metadata), what });
      found.errors.set(serviceKey(other.service.metadata), [elsewhere]);
    }
    return undefined;
  }
  const parts: NlbPart[] = [firstPart];
  const untouched: ServiceKey[] = [...absent];
  const taken = new Map<number, ServiceKey>();
  takePorts(first.service, taken);
  for (const other of others) {
    const own = issuesOf(other);
    if (!admits(first, stack, other)) own.error(notAdmitted(stack, other, first));
    for (const { port } of other.service.ports) {
      const owner = taken.get(port);
      if (owner !== undefined) own.error(reason('AwsSharedPortTaken', { port, other: owner }));
    }
    const listeners = parts.flatMap((part) => part.listeners);
    const part = nlbPart({ member: other, stack, shell, others: listeners, circumstances, issues: own });
    const isOfOtherNamespace = other.service.metadata.namespace !== stack.namespace;
    const guest = isOfOtherNamespace ? usesOfGuest(shell, schemeByDefault(other, circumstances)) : [];
    checkPolicy(other.policy, [...guest, ...usesOfPart(other, part)], own);
    if (own.errors.length === 0) parts.push(part);
    else untouched.push(serviceKey(other.service.metadata));
    takePorts(other.service, taken);
    note(found, other, own);
  }
  return assembleNlb(shell, parts, untouched, issues);
}

function schemeByDefault({ service }: Member, { settings }: Circumstances): Scheme {
  return defaultScheme(upstreamIsPublic(service), settings);
}

function usesOfPart({ values }: Member, { listeners }: NlbPart) {
  const certificates = listeners.flatMap((listener) => listener.certificates);
  return [...usesOfCertificates(values, certificates), ...usesOfAlbs(values), ...usesOfWeights(values), ...usesOfTags(values)];
}

/** Both sides must agree: the guest names the load balancer, and the Service that decides about it names the namespace of the guest. */
function admits({ values }: Member, stack: StackIdentity, { service }: Member): boolean {
  const { namespace } = service.metadata;
  const admitted = values.sharedNamespaces ?? [];
  return namespace === stack.namespace || admitted.includes(namespace) || admitted.includes('*');
}

function notAdmitted({ namespace, name }: StackIdentity, { service: { metadata } }: Member, host?: Member): Reason {
  const details = { home: namespace, name, guest: metadata.namespace };
  return reason('AwsSharedNotAdmitted', { ...details, host: host === undefined ? '' : serviceKey(host.service.metadata) });
}

function takePorts(service: Service, taken: Map<number, ServiceKey>): void {
  for (const { port } of service.ports) if (!taken.has(port)) taken.set(port, serviceKey(service.metadata));
}

function issuesOf({ service, values, errors, warnings }: Member): Issues {
  const issues = new Issues();
  if (joinsTargetGroups(values)) {
    const group = values.targetGroup ?? [...values.targetGroupOfPort.values()][0] ?? '';
    const why = 'cannot be used, because the Service has or shares a load balancer';
    issues.error(reason('AwsTargetGroupUnusable', { key: annotationTable.targetGroup.key, group, why }));
  }
  for (const error of errors) issues.error(error);
  for (const warning of warnings) issues.warn(warning);
  if (service.requestedAddresses.length > 0) {
    const instead = 'use aws-load-balancer-eip-allocations or aws-load-balancer-private-ipv4-addresses';
    issues.warn(reason('AwsFieldWithoutEffect', { field: 'spec.loadBalancerIP', instead }));
  }
  if (service.affinitySeconds !== undefined) {
    const instead = 'use aws-load-balancer-target-group-attributes: stickiness.enabled=true,stickiness.type=source_ip';
    issues.warn(reason('AwsFieldWithoutEffect', { field: 'spec.sessionAffinity', instead }));
  }
  return issues;
}
