import { defined } from '../../../../src/lang/defined.ts';
import { reason } from '../../../../src/model/reasons.ts';
import type { ServiceKey } from '../../../../src/model/objects/metadata.ts';
import { isOurs, tagKeys, tagList } from '../../model/tags.ts';
import { placeholder } from '../steps/action.ts';
import type { DesiredListener, DesiredNlb } from '../../model/desired.ts';
import type { PlanInput } from '../steps/input.ts';
import type { ObservedListener, ObservedLoadBalancer } from '../../model/observed.ts';
import { limits } from '../../model/limits.ts';
import { actionOf, forwardingOf, sameForwarding, type Forwarding } from '../../cloud/forwarding.ts';
import { listenerDefaults } from './attribute-defaults.ts';
import { planAttributes, beforeTagsAtCreation } from '../steps/attributes.ts';
import { planTags, type Steps } from '../steps/steps.ts';
import type { UsableTargetGroup } from './target-groups.ts';
import { freePort, needsWarmUp, planWarmUp, findWarmUpListeners } from './warm-up.ts';

interface PlannedListeners {
  /** Ids of the actions after which no listener uses an old target group any more. */
  readonly detached: readonly string[];
  /** ARNs of target groups that continue to serve until their successors can. */
  readonly serving: ReadonlySet<string>;
}

/**
 * Plans listeners by port. Surplus listeners are deleted first, because AWS limits their number. A listener whose protocol or target group
 * changes is modified in place, so the port never stops listening, and only after the new targets were checked.
 */
export function planListeners(
  steps: Steps,
  { desired, observed, cluster }: PlanInput<DesiredNlb>,
  loadBalancer: { readonly arn: string; readonly needs?: string; readonly observed?: ObservedLoadBalancer },
  groups: ReadonlyMap<string, UsableTargetGroup>,
): PlannedListeners {
  const existing = new Map((loadBalancer.observed?.listeners ?? []).map((one) => [one.listener.Port, one]));
  const wanted = new Set(desired.listeners.map(({ port }) => port));
  const detached: string[] = [];
  const serving = new Set<string>();
  const surplus = surplusListeners(desired, existing.values(), cluster);
  const warmUps = findWarmUpListeners(surplus, groups.values());
  const remove = ({ listener: { Port, ListenerArn } }: ObservedListener, reason: string, needs: readonly string[] = []): string =>
    steps.addAction(`listener ${Port}: delete`, 'elbv2:DeleteListener', { input: { ListenerArn }, reason, needs });
  for (const one of surplus.filter((one) => !warmUps.includes(one)))
    detached.push(remove(one, `no Service has port ${one.listener.Port} any more`));
  for (const one of desired.removesForeignListeners ? foreignListeners(desired, loadBalancer.observed, cluster) : [])
    detached.push(remove(one, 'Herald did not make it, and herald.dev/aws-foreign-listeners is remove'));
  const taken = new Set([...wanted, ...existing.keys()]);
  const warming = new Set<string>();
  const switched = new Map<string, readonly string[]>();
  for (const listener of desired.listeners) {
    const group = groups.get(listener.targetGroup);
    const there = existing.get(listener.port);
    const wantedForwarding = desiredForwarding(listener, groups);
    if (group === undefined || wantedForwarding === undefined) continue;
    // Only an adopted load balancer may have foreign listeners on a port. On our own an unknown listener is drift and gets changed.
    if (there !== undefined && desired.adopted !== undefined && !isOurs(there.tags, cluster)) {
      steps.addProblem(reason('AwsListenerForeign', { port: listener.port }));
      continue;
    }
    if (there === undefined) {
      create(steps, listener, loadBalancer, { forwarding: wantedForwarding, needs: needsOf(wantedForwarding, groups) });
      continue;
    }
    const present = forwardingOf(there.listener);
    const arrivals = arrivingGroups(listener, present, groups, { desired, observed }, loadBalancer.arn);
    const spare = warmUps.find((one) => sendsTo(one, group.arn))?.listener.Port ?? freePort(taken);
    const { forwarding, isComplete } = nextForwarding(present, wantedForwarding, group.arn, arrivals, spare !== undefined);
    if (!isComplete) {
      for (const arn of present.groups.keys()) serving.add(arn);
      steps.wait(`AWS to check the new targets of port ${listener.port} before it is switched to them`);
    }
    const isLater = forwarding === present;
    if (isLater && spare !== undefined) {
      taken.add(spare);
      warming.add(group.arn);
      if (!existing.has(spare))
        planWarmUp(steps, { loadBalancer: loadBalancer.arn, port: spare }, listener, wantedForwarding, needsOf(wantedForwarding, groups));
    }
    const modified = update(steps, listener, there, { forwarding, needs: needsOf(forwarding, groups), isLater });
    switched.set(group.arn, modified);
    detached.push(...modified);
  }
  for (const one of warmUps.filter((one) => ![...warming].some((arn) => sendsTo(one, arn)))) {
    const after = [...switched].flatMap(([arn, modified]) => (sendsTo(one, arn) ? modified : []));
    detached.push(remove(one, 'its targets are checked, so it is no longer needed', after));
  }
  return { detached, serving };
}

/** Returns our listeners on ports that no Service has, except those of Services that stay untouched. */
function surplusListeners({ listeners, untouched }: DesiredNlb, existing: Iterable<ObservedListener>, cluster: string): ObservedListener[] {
  const wanted = new Set(listeners.map(({ port }) => port));
  return [...existing].filter(({ listener, tags }) => {
    const isUntouched = untouched.includes(tags[tagKeys.service] as ServiceKey);
    return !wanted.has(listener.Port) && isOurs(tags, cluster) && !isUntouched;
  });
}

/**
 * Returns the next forwarding of a listener. While AWS checks the arriving target groups: the present one, when a temporary listener can
 * forward to the group `own`; otherwise the present one and the arriving groups, which get no connections with the weight 0.
 */
function nextForwarding(
  present: Forwarding,
  wanted: Forwarding,
  own: string,
  arrivals: readonly string[],
  hasSpare: boolean,
): { readonly forwarding: Forwarding; readonly isComplete: boolean } {
  if (arrivals.length > 0 && !present.groups.has(own) && hasSpare) return { forwarding: present, isComplete: false };
  const hasRoom = arrivals.length <= limits.targetGroupsPerListener - present.groups.size;
  if (arrivals.length === 0 || !present.groups.has(own) || !hasRoom) return { forwarding: wanted, isComplete: true };
  const groups = new Map([...arrivals.map((arn) => [arn, 0] as const), ...present.groups]);
  return { forwarding: { ...present, groups }, isComplete: false };
}

/** Returns the listeners on our own load balancer that Herald did not make, on ports that no Service has. */
export function foreignListeners(
  { adopted, listeners }: Pick<DesiredNlb, 'adopted' | 'listeners'>,
  loadBalancer: ObservedLoadBalancer | undefined,
  cluster: string,
): readonly ObservedListener[] {
  if (adopted !== undefined) return [];
  const wanted = new Set(listeners.map(({ port }) => port));
  return (loadBalancer?.listeners ?? []).filter(({ listener, tags }) => !wanted.has(listener.Port) && !isOurs(tags, cluster));
}

/** Returns the forwarding that a listener shall have. Undefined: the target group of its Service is not usable. */
function desiredForwarding(
  { targetGroup, weighted }: DesiredListener,
  usable: ReadonlyMap<string, UsableTargetGroup>,
): Forwarding | undefined {
  const own = usable.get(targetGroup)?.arn;
  if (own === undefined) return undefined;
  if (weighted === undefined) return { groups: new Map([[own, 1]]), isSticky: false };
  // A group without an entry is one that Herald did not make.
  const others = weighted.others.map(({ group, weight }) => [usable.get(group)?.arn ?? group, weight] as const);
  return { groups: new Map([[own, weighted.own], ...others]), isSticky: weighted.isSticky };
}

function sendsTo({ listener }: ObservedListener, arn: string): boolean {
  return forwardingOf(listener).groups.has(arn);
}

/** Returns the actions that create the target groups. */
function needsOf({ groups: wanted }: Forwarding, groups: ReadonlyMap<string, UsableTargetGroup>): readonly (string | undefined)[] {
  return [...groups.values()].filter(({ arn }) => wanted.has(arn)).map(({ needs }) => needs);
}

/**
 * Returns the target groups of a listener that get no connections yet and whose targets AWS has not checked, while others serve. They must
 * be checked before they get connections.
 */
function arrivingGroups(
  { targetGroup, weighted }: DesiredListener,
  { groups: present }: Forwarding,
  usable: ReadonlyMap<string, UsableTargetGroup>,
  { desired, observed }: Pick<PlanInput<DesiredNlb>, 'desired' | 'observed'>,
  loadBalancerArn: string,
): string[] {
  const serving = observed.targetGroups.filter(({ targetGroup }) => (present.get(targetGroup.TargetGroupArn) ?? 0) > 0);
  const all = [{ group: targetGroup, weight: weighted?.own ?? 1 }, ...(weighted?.others ?? [])];
  const keys = all.flatMap(({ group, weight }) => (weight === 0 ? [] : [group]));
  return keys.flatMap((key) => {
    const group = usable.get(key);
    if (group === undefined || (present.get(group.arn) ?? 0) > 0) return [];
    const wanted = desired.targetGroups.find((one) => one.key === key);
    const isAttached = present.has(group.arn) || group.observed?.targetGroup.LoadBalancerArns.includes(loadBalancerArn) === true;
    return serving.some((one) => needsWarmUp(wanted, isAttached, group, one)) ? [group.arn] : [];
  });
}

interface Forward {
  readonly forwarding: Forwarding;
  /** The actions that create its target groups. */
  readonly needs: readonly (string | undefined)[];
}

function create(
  steps: Steps,
  listener: DesiredListener,
  { arn, needs }: { readonly arn: string; readonly needs?: string },
  { forwarding, needs: groupNeeds }: Forward,
): void {
  const [defaultCertificate, ...extra] = listener.certificates;
  const created = `listener ${listener.port}`;
  const remembered = beforeTagsAtCreation(listener.attributes, listenerDefaults);
  const id = steps.addAction(`${created}: create`, 'elbv2:CreateListener', {
    input: {
      LoadBalancerArn: arn,
      Port: listener.port,
      Protocol: listener.protocol,
      DefaultActions: [actionOf(forwarding)],
      ...(defaultCertificate === undefined ? {} : { Certificates: [{ CertificateArn: defaultCertificate }] }),
      ...defined({ SslPolicy: listener.sslPolicy }),
      ...(listener.alpnPolicy === undefined ? {} : { AlpnPolicy: [listener.alpnPolicy] }),
      Tags: tagList({ ...listener.tags, ...remembered }),
    },
    reason: `nothing listens on port ${listener.port}`,
    needs: [needs, ...groupNeeds],
    creates: created,
  });
  addCertificates(steps, listener.port, placeholder(created), extra, id);
  setAttributes(steps, listener, placeholder(created), { attributes: [], tags: remembered }, id);
}

function update(
  steps: Steps,
  desired: DesiredListener,
  { listener, tags, attributes, extraCertificates }: ObservedListener,
  { forwarding, needs, isLater }: Forward & { readonly isLater: boolean },
): string[] {
  const { port, protocol, certificates, sslPolicy, alpnPolicy } = desired;
  // Protocol and target group must match, so both change together.
  if (isLater && listener.Protocol !== protocol) return [];
  const [defaultCertificate, ...extra] = certificates;
  const arn = listener.ListenerArn;
  const changes = {
    ...(listener.Protocol === protocol ? {} : { Protocol: protocol }),
    ...(defaultCertificate === undefined || listener.Certificates?.[0]?.CertificateArn === defaultCertificate
      ? {}
      : { Certificates: [{ CertificateArn: defaultCertificate }] }),
    ...(sslPolicy === undefined || listener.SslPolicy === sslPolicy ? {} : { SslPolicy: sslPolicy }),
    ...(alpnPolicy === undefined || (listener.AlpnPolicy?.[0] ?? 'None') === alpnPolicy ? {} : { AlpnPolicy: [alpnPolicy] }),
    ...(sameForwarding(forwardingOf(listener), forwarding) ? {} : { DefaultActions: [actionOf(forwarding)] }),
  };
  const modified =
    Object.keys(changes).length === 0
      ? undefined
      : steps.addAction(`listener ${port}: modify`, 'elbv2:ModifyListener', {
          input: { ListenerArn: arn, ...changes },
          reason: `${Object.keys(changes).join(', ')} of port ${port} differ`,
          needs,
        });
  // AWS may list the default certificate among the others too. A listener of another protocol has no extra certificates.
  const present = listener.Protocol === 'TLS' ? extraCertificates : [];
  const missing = extra.filter((certificate) => !present.includes(certificate));
  const keep = new Set(certificates);
  addCertificates(steps, port, arn, missing, modified);
  if (protocol === 'TLS') {
    for (const certificate of present.filter((certificate) => !keep.has(certificate))) {
      steps.addAction(`listener ${port}: remove certificate ${certificate}`, 'elbv2:RemoveListenerCertificates', {
        input: { ListenerArn: arn, Certificates: [{ CertificateArn: certificate }] },
        reason: `certificate ${certificate} is no longer named`,
        needs: [modified],
      });
    }
  }
  // A change of the protocol replaces the attributes, and TLS listeners have none.
  const kept = changes.Protocol === undefined && protocol !== 'TLS' ? attributes : [];
  setAttributes(steps, desired, arn, { attributes: kept, tags }, modified);
  planTags(steps, `listener ${port}`, { ResourceArns: [arn] }, tags, desired.tags);
  return modified === undefined ? [] : [modified];
}

function addCertificates(steps: Steps, port: number, arn: string, certificates: readonly string[], needs: string | undefined): void {
  for (const certificate of certificates) {
    steps.addAction(`listener ${port}: add certificate ${certificate}`, 'elbv2:AddListenerCertificates', {
      input: { ListenerArn: arn, Certificates: [{ CertificateArn: certificate }] },
      reason: `certificate ${certificate} is missing`,
      needs: [needs],
    });
  }
}

function setAttributes(
  steps: Steps,
  { port, attributes: desired }: DesiredListener,
  ListenerArn: string,
  { attributes: actual, tags }: Pick<ObservedListener, 'attributes' | 'tags'>,
  needs: string | undefined,
): void {
  planAttributes(steps, {
    what: `listener ${port}`,
    arn: ListenerArn,
    needs,
    actual,
    tags,
    desired,
    defaults: listenerDefaults,
    write: (id, attributes, reason, needs) => [
      steps.addAction(id, 'elbv2:ModifyListenerAttributes', { input: { ListenerArn, Attributes: tagList(attributes) }, reason, needs }),
    ],
  });
}
