import { reason } from '../../../src/model/reasons.ts';
import type { ServiceKey } from '../../../src/model/metadata.ts';
import { isOurs, tagKeys, tagList } from '../tags.ts';
import { placeholder } from './action.ts';
import type { DesiredListener, DesiredNlb } from './desired.ts';
import type { PlanInput } from './input.ts';
import type { ObservedListener, ObservedLoadBalancer } from './observed.ts';
import { attributeDifference, planTags, type Steps } from './steps.ts';
import type { UsableTargetGroup } from './target-groups.ts';

/** Ids of the actions after which an old target group is in no listener any more. */
export type Detached = readonly string[];

/**
 * Listeners by their ports. One that is not wanted goes first, as AWS allows only so many; a port whose protocol or target group
 * changes is changed in place, so that it never stops listening.
 */
export function planListeners(
  steps: Steps,
  { desired, cluster }: PlanInput<DesiredNlb>,
  loadBalancer: { readonly arn: string; readonly needs?: string; readonly observed?: ObservedLoadBalancer },
  groups: ReadonlyMap<string, UsableTargetGroup>,
): Detached {
  const existing = new Map((loadBalancer.observed?.listeners ?? []).map((one) => [one.listener.Port, one]));
  const wanted = new Set(desired.listeners.map(({ port }) => port));
  const detached: string[] = [];
  for (const [port, { listener, tags }] of existing) {
    const isUntouched = desired.untouched.includes(tags[tagKeys.service] as ServiceKey);
    if (wanted.has(port) || !isOurs(tags, cluster) || isUntouched) continue;
    detached.push(
      steps.add(`listener ${port}: delete`, 'elbv2:DeleteListener', {
        input: { ListenerArn: listener.ListenerArn },
        reason: `no Service has port ${port} any more`,
      }),
    );
  }
  for (const listener of desired.listeners) {
    const group = groups.get(listener.targetGroup);
    const observed = existing.get(listener.port);
    if (group === undefined) continue;
    // A load balancer of ours has no listeners of others that could stand in the way: they are drift. An adopted one may have.
    if (observed !== undefined && desired.adopted !== undefined && !isOurs(observed.tags, cluster)) {
      steps.problem(reason('AwsListenerForeign', { port: listener.port }));
    } else if (observed === undefined) create(steps, listener, loadBalancer, group);
    else detached.push(...update(steps, listener, observed, group));
  }
  return detached;
}

function create(
  steps: Steps,
  listener: DesiredListener,
  { arn, needs }: { readonly arn: string; readonly needs?: string },
  group: UsableTargetGroup,
): void {
  const [defaultCertificate, ...extra] = listener.certificates;
  const created = `listener ${listener.port}`;
  const id = steps.add(`${created}: create`, 'elbv2:CreateListener', {
    input: {
      LoadBalancerArn: arn,
      Port: listener.port,
      Protocol: listener.protocol,
      DefaultActions: [{ Type: 'forward', TargetGroupArn: group.arn }],
      ...(defaultCertificate === undefined ? {} : { Certificates: [{ CertificateArn: defaultCertificate }] }),
      ...(listener.sslPolicy === undefined ? {} : { SslPolicy: listener.sslPolicy }),
      ...(listener.alpnPolicy === undefined ? {} : { AlpnPolicy: [listener.alpnPolicy] }),
      Tags: tagList(listener.tags),
    },
    reason: `nothing listens on port ${listener.port}`,
    needs: [needs, group.needs],
    creates: created,
  });
  addCertificates(steps, listener.port, placeholder(created), extra, id);
  planAttributes(steps, listener, placeholder(created), [], id);
}

function update(
  steps: Steps,
  desired: DesiredListener,
  { listener, tags, attributes, extraCertificates }: ObservedListener,
  group: UsableTargetGroup,
): string[] {
  const { port, protocol, certificates, sslPolicy, alpnPolicy } = desired;
  const [defaultCertificate, ...extra] = certificates;
  const arn = listener.ListenerArn;
  const changes = {
    ...(listener.Protocol === protocol ? {} : { Protocol: protocol }),
    ...(defaultCertificate === undefined || listener.Certificates?.[0]?.CertificateArn === defaultCertificate
      ? {}
      : { Certificates: [{ CertificateArn: defaultCertificate }] }),
    ...(sslPolicy === undefined || listener.SslPolicy === sslPolicy ? {} : { SslPolicy: sslPolicy }),
    ...(alpnPolicy === undefined || (listener.AlpnPolicy?.[0] ?? 'None') === alpnPolicy ? {} : { AlpnPolicy: [alpnPolicy] }),
    ...(listener.DefaultActions.length === 1 && listener.DefaultActions[0]?.TargetGroupArn === group.arn
      ? {}
      : { DefaultActions: [{ Type: 'forward' as const, TargetGroupArn: group.arn }] }),
  };
  const modified =
    Object.keys(changes).length === 0
      ? undefined
      : steps.add(`listener ${port}: modify`, 'elbv2:ModifyListener', {
          input: { ListenerArn: arn, ...changes },
          reason: `${Object.keys(changes).join(', ')} of port ${port} differ`,
          needs: [group.needs],
        });
  // AWS may list the default certificate among the others as well; with another protocol there are none.
  const present = listener.Protocol === 'TLS' ? extraCertificates : [];
  const missing = extra.filter((certificate) => !present.includes(certificate));
  const keep = new Set(certificates);
  addCertificates(steps, port, arn, missing, modified);
  if (protocol === 'TLS') {
    for (const certificate of present.filter((certificate) => !keep.has(certificate))) {
      steps.add(`listener ${port}: remove certificate ${certificate}`, 'elbv2:RemoveListenerCertificates', {
        input: { ListenerArn: arn, Certificates: [{ CertificateArn: certificate }] },
        reason: `certificate ${certificate} is no longer named`,
        needs: [modified],
      });
    }
  }
  planAttributes(steps, desired, arn, attributes, modified);
  planTags(steps, `listener ${port}`, arn, tags, desired.tags);
  return modified === undefined ? [] : [modified];
}

function addCertificates(steps: Steps, port: number, arn: string, certificates: readonly string[], needs: string | undefined): void {
  for (const certificate of certificates) {
    steps.add(`listener ${port}: add certificate ${certificate}`, 'elbv2:AddListenerCertificates', {
      input: { ListenerArn: arn, Certificates: [{ CertificateArn: certificate }] },
      reason: `certificate ${certificate} is missing`,
      needs: [needs],
    });
  }
}

function planAttributes(
  steps: Steps,
  { port, attributes }: DesiredListener,
  arn: string,
  actual: Parameters<typeof attributeDifference>[0],
  needs: string | undefined,
): void {
  const Attributes = attributeDifference(actual, attributes);
  if (Attributes.length === 0) return;
  steps.add(`listener ${port}: attributes`, 'elbv2:ModifyListenerAttributes', {
    input: { ListenerArn: arn, Attributes },
    reason: `${Attributes.map(({ Key }) => Key).join(', ')} of port ${port} differ`,
    needs: [needs],
  });
}
