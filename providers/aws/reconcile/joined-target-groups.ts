import type { Preview } from '../../../src/controller/provider-parts.ts';
import type { Reconciliation } from '../../../src/controller/provider.ts';
import { defined } from '../../../src/lang/defined.ts';
import { serviceKey, type ServiceKey } from '../../../src/model/objects/metadata.ts';
import type { Service } from '../../../src/model/objects/service.ts';
import { reason, type Reason } from '../../../src/model/reasons.ts';
import type { Snapshot } from '../../../src/model/store/snapshot.ts';
import { annotationTable } from '../annotations/table.ts';
import { reasonOfError } from '../cloud/error-reason.ts';
import type { TargetDescription } from '../cloud/elbv2.ts';
import { checkPolicy, usesOfTargetGroups } from '../desire/policies/check-policy.ts';
import { policyOf, type NamespacePolicy } from '../desire/policies/namespace-policy.ts';
import { checkJoinedGroup, joinedPorts, whyUntouchable } from '../desire/ports/joined-groups.ts';
import { checkEnforced } from '../desire/security-groups.ts';
import type { Member } from '../desire/stack.ts';
import { zonesOfTargets } from '../desire/targets/target-zones.ts';
import { departingInstances, departingPods, instanceTargets, podTargets } from '../desire/targets/targets.ts';
import type { DesiredTarget } from '../model/desired.ts';
import { Issues } from '../model/issues.ts';
import { limits } from '../model/limits.ts';
import type { ObservedTargetGroup } from '../model/observed.ts';
import { formatRecord, nextRecorded, recordKeyOf, type TargetRecord } from '../model/targets/target-record.ts';
import { hostnameOfGroups, observeJoinedGroups } from '../observe/joined-groups.ts';
import { registeredTargets } from '../observe/registered-targets.ts';
import { describeTargetGroup } from '../plan/describe.ts';
import { planTargets } from '../plan/nlb/targets.ts';
import { Steps } from '../plan/steps/steps.ts';
import type { SharedComponents } from '../stacks/shared-components.ts';
import type { Connection } from '../stacks/aws-account.ts';
import { logOutcome } from '../stacks/execution/action-log.ts';
import { execute, worstFailure } from '../stacks/execution/execute.ts';
import { RepeatedWrites } from '../stacks/execution/repeated-writes.ts';
import type { TargetRecords } from '../stacks/targets/target-records.ts';

interface Components extends SharedComponents {
  readonly records: TargetRecords;
}

interface Decision {
  readonly observed: readonly ObservedTargetGroup[];
  readonly groups: readonly { readonly arn: string; readonly targets: readonly DesiredTarget[] }[];
  readonly next: TargetRecord;
  readonly steps: Steps;
  readonly issues: Issues;
  /** Groups that the Service leaves and Herald may not change, with the reason. */
  readonly untouched: ReadonlyMap<string, Reason>;
}

interface Wanted {
  /** The groups with their wanted targets. The Service leaves those that its record has besides them, except `stays`. */
  readonly groups: readonly { readonly arn: string; readonly targets: readonly DesiredTarget[]; readonly departing: readonly string[] }[];
  readonly policy: NamespacePolicy | undefined;
  readonly zoneOf?: (id: string) => string | undefined;
  /** The groups that have been read. */
  readonly found?: readonly ObservedTargetGroup[];
  readonly stays?: ReadonlySet<string>;
}

/** The result of reconciling a Service that joins target groups. */
interface Joined {
  readonly reconciliation: Reconciliation;
  readonly pollSeconds: number;
  /** The refusal of AWS to report and to retry. */
  readonly refusal: Reason | undefined;
}

/**
 * Registers the targets of Services in target groups of other owners. Herald changes nothing else there, and deregisters only what its record of the Service
 * names. The owner of a group deletes it, and opens nodes for its load balancer.
 */
export class JoinedTargetGroups {
  readonly #components: Components;
  /** The owner of a group, or another program, may undo each registration. */
  readonly #repeated = new Map<ServiceKey, RepeatedWrites>();

  constructor(components: Components) {
    this.#components = components;
  }

  /** Rejects with AwsError when AWS cannot be read. */
  async serve(member: Member, snapshot: Snapshot): Promise<Joined> {
    const { account } = this.#components;
    const connection = await account.openToWrite(snapshot);
    const { service } = member;
    const decision = await this.#decide(connection, member, snapshot);
    const { issues, observed, groups, steps } = decision;
    const { failed, isDone } = await this.#carryOut(connection, service, decision);
    const named = observed.filter(({ targetGroup }) => groups.some(({ arn }) => arn === targetGroup.TargetGroupArn));
    const hostname = await hostnameOfGroups(connection.cloud, named);
    const waits =
      hostname === undefined && issues.errors.length === 0 ? [reason('AwsProvisioning', { waitsFor: waitsForBalancer(named) })] : [];
    const [unmet] = [...issues.errors, ...(failed === undefined ? [] : [failed]), ...waits];
    const keeps = hostname === undefined || issues.errors.length > 0;
    const isQuiet = isDone && steps.waits.length === 0 && waits.length === 0;
    return {
      pollSeconds: isQuiet ? limits.driftSeconds : limits.pollSeconds,
      refusal: failed,
      reconciliation: {
        ingress: keeps ? service.ingress : [{ hostname, ipMode: 'VIP' }],
        ...(unmet === undefined ? {} : { reason: unmet }),
        warnings: issues.warnings,
      },
    };
  }

  /** Repeats writes that had no effect: the Service asks for something else now, or is gone. */
  forgetService(key: ServiceKey): void {
    this.#repeated.delete(key);
  }

  async preview(member: Member, snapshot: Snapshot): Promise<Preview> {
    const { observed, groups, steps, issues } = await this.#decide(await this.#components.account.open(snapshot), member, snapshot);
    return {
      observed: observed.map(describeTargetGroup),
      desired: groups.map(({ arn, targets }) => `${targets.length} targets in target group ${arn}`),
      actions: steps.actions,
      waits: steps.waits.map((wait) => wait.for),
      reasons: [...issues.errors, ...issues.warnings],
    };
  }

  /** Deregisters what the Service has registered in target groups of other owners. Resolves to what remains, and to undefined when nothing does. */
  async leave(key: ServiceKey, snapshot: Snapshot): Promise<Reason | undefined> {
    const { account, records, log } = this.#components;
    const service = snapshot.services.get(key);
    if (service === undefined || !hasJoined(records.of(service))) return undefined;
    const connection = await account.openToWrite(snapshot);
    const policy = policyOf(service.metadata.namespace, snapshot);
    const decision = await this.#decideFor(connection, service, { groups: [], policy }, new Issues());
    for (const [targetGroup, { code }] of decision.untouched)
      log.warn({ service: key, targetGroup, code }, 'recorded targets stay in a target group that may not be changed');
    const { failed, isDone } = await this.#carryOut(connection, service, decision);
    if (failed !== undefined) return failed;
    return isDone && !hasJoined(decision.next)
      ? undefined
      : reason('AwsProvisioning', { waitsFor: `the targets of ${key} to leave target groups of other owners` });
  }

  async #decide(connection: Connection, member: Member, snapshot: Snapshot): Promise<Decision> {
    const { account, records } = this.#components;
    const { settings, cloud } = connection;
    const { service, values } = member;
    const key = serviceKey(service.metadata);
    const issues = new Issues();
    for (const error of member.errors) issues.error(error);
    for (const warning of member.warnings) issues.warn(warning);
    const ports = joinedPorts(service, values, issues);
    const family = service.ipFamilies[0] ?? 4;
    checkEnforced(service, values, { why: 'joined', dualstack: family === 6 }, issues);
    const found = await observeJoinedGroups(
      cloud,
      ports.map(({ arn }) => arn),
    );
    const groupOf = (arn: string): ObservedTargetGroup | undefined => found.find(({ targetGroup }) => targetGroup.TargetGroupArn === arn);
    const { namespace } = service.metadata;
    const policy = policyOf(namespace, snapshot);
    for (const port of ports) {
      const group = groupOf(port.arn);
      const found = group === undefined ? undefined : { group: group.targetGroup, tags: group.tags };
      checkJoinedGroup(port, found, { service, policy, ...settings }, issues);
    }
    checkPolicy(policy, usesOfTargetGroups(ports), issues);
    const { facts, nodes, checkTargets } = await account.circumstances(connection, snapshot, [member]);
    const needsPods = found.some(({ targetGroup }) => targetGroup.TargetType === 'ip');
    const { slices, refusedTargets } = await checkTargets(needsPods ? [key] : []);
    if (needsPods) for (const refused of refusedTargets(key)) issues.warn(refused);
    const byArn = Map.groupBy(ports, ({ arn }) => arn);
    const record = records.of(service);
    const untouchable = new Set(
      found
        .map(({ targetGroup, tags }) => [targetGroup.TargetGroupArn, tags] as const)
        .flatMap(([arn, tags]) => (whyUntouchable(arn, tags, namespace, policy) === undefined ? [] : [arn])),
    );
    const groups = [...byArn].flatMap(([arn, ports]) => {
      const group = untouchable.has(arn) ? undefined : groupOf(arn);
      // While the Service has an error, only groups that it has joined before follow nodes and pods.
      if (group === undefined || (issues.errors.length > 0 && !record.has(arn))) return [];
      const isInstance = group.targetGroup.TargetType === 'instance';
      const targets = ports.flatMap(({ port }) =>
        isInstance
          ? instanceTargets(nodes, values).map((id): DesiredTarget => ({ id, port: port.nodePort }))
          : podTargets(slices(key), port, family, facts.vpcCidrs),
      );
      return [{ arn, targets, departing: isInstance ? departingInstances(nodes) : departingPods(slices(key)) }];
    });
    // With an error it is unknown which groups the Service leaves.
    const stays = issues.errors.length > 0 ? [...record.keys()].filter((arn) => !byArn.has(arn)) : [];
    stays.push(...untouchable);
    const zoneOf = zonesOfTargets(nodes, facts.subnets);
    const decision = await this.#decideFor(connection, service, { groups, policy, zoneOf, found, stays: new Set(stays) }, issues);
    for (const left of decision.untouched.values()) issues.warn(left);
    // The record stays as long as the Service, so the warning does, too.
    const next = new Map([...decision.next, ...[...record].filter(([arn]) => decision.untouched.has(arn))]);
    return { ...decision, next };
  }

  async #decideFor(
    { cloud }: Connection,
    service: Service,
    { groups, policy, zoneOf = () => undefined, found = [], stays = new Set() }: Wanted,
    issues: Issues,
  ): Promise<Decision> {
    const record = this.#components.records.of(service);
    const key = serviceKey(service.metadata);
    const wanted = new Set(groups.map(({ arn }) => arn));
    const left = [...record.keys()].filter((arn) => arn.startsWith('arn:') && !wanted.has(arn) && !stays.has(arn));
    const read = new Set(found.map(({ targetGroup }) => targetGroup.TargetGroupArn));
    const observed = [
      ...found,
      ...(await observeJoinedGroups(
        cloud,
        left.filter((arn) => !read.has(arn)),
      )),
    ];
    const steps = new Steps();
    const untouched = new Map<string, Reason>();
    const next = new Map([...record].filter(([arn]) => !wanted.has(arn) && !left.includes(arn)));
    for (const group of [...groups, ...left.map((arn) => ({ arn, targets: [], departing: [] }))]) {
      const there = observed.find(({ targetGroup }) => targetGroup.TargetGroupArn === group.arn);
      if (there === undefined) continue;
      const recorded = record.get(group.arn);
      const why = whyUntouchable(group.arn, there.tags, service.metadata.namespace, policy);
      if (why !== undefined) {
        untouched.set(group.arn, reason('AwsTargetsLeft', { group: group.arn, why, targets: recorded?.size ?? 0 }));
        continue;
      }
      const shared = recorded === undefined ? { recorded: [] } : { recorded: [...recorded] };
      planTargets(steps, { ...group, key, shared }, there, { zoneOf });
      const present = new Set(registeredTargets(there).map(targetKey));
      const kept = nextRecorded({ shared, targets: group.targets }, present, true);
      if (wanted.has(group.arn) || kept.size > 0) next.set(group.arn, kept);
    }
    return { observed, groups, next, steps, issues, untouched };
  }

  /** Records the targets, and then registers and deregisters them. */
  async #carryOut(
    { cloud }: Connection,
    service: Service,
    { observed, steps, next }: Decision,
  ): Promise<{ readonly failed?: Reason; readonly isDone: boolean }> {
    const { records, log } = this.#components;
    const key = serviceKey(service.metadata);
    if (formatRecord(records.of(service)) !== formatRecord(next)) {
      if (!records.canWrite) return { failed: reason('AwsTargetsNotRecorded', { key: annotationTable.targetGroup.key }), isDone: false };
      if (!(await records.write(key, next))) return { isDone: false };
    }
    const repeated = this.#repeated.get(key) ?? new RepeatedWrites();
    this.#repeated.set(key, repeated);
    const state = lastingTargets(observed);
    const { actions, reasons } = repeated.admit(steps.actions, state);
    const execution = await execute(cloud, actions, (outcome) => logOutcome(log, key, outcome));
    repeated.record(execution.outcomes, state);
    const failure = worstFailure(execution);
    const failed = failure === undefined ? reasons[0] : reasonOfError(failure);
    return { ...defined({ failed }), isDone: steps.actions.length === 0 };
  }
}

/** The registered targets of each group, without their health, which changes by itself. */
function lastingTargets(observed: readonly ObservedTargetGroup[]): string {
  const groups = observed.map((group) => [group.targetGroup.TargetGroupArn, registeredTargets(group).map(targetKey).toSorted()] as const);
  return JSON.stringify(groups.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function targetKey({ Id, Port }: TargetDescription): string {
  return recordKeyOf({ id: Id, port: Port });
}

/** True if the Service may have targets in groups of other owners. */
function hasJoined(record: TargetRecord): boolean {
  return [...record.keys()].some((group) => group.startsWith('arn:'));
}

function waitsForBalancer(groups: readonly ObservedTargetGroup[]): string {
  return `a load balancer that sends to target group ${groups.map(({ targetGroup }) => targetGroup.TargetGroupName).join(', ')}`;
}
