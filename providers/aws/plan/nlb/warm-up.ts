import { defined } from '../../../../src/lang/defined.ts';
import { limits } from '../../model/limits.ts';
import { resources, tagKeys, tagList } from '../../model/tags.ts';
import type { DesiredListener, DesiredTargetGroup } from '../../model/desired.ts';
import type { ObservedListener, ObservedTargetGroup } from '../../model/observed.ts';
import type { Steps } from '../steps/steps.ts';
import type { UsableTargetGroup } from './target-groups.ts';

/**
 * AWS checks no target before a listener forwards to its group: a port that is simply pointed to another group answers nobody until the first check has
 * passed. So the group gets a listener of its own for that time, on a port that nobody asks for, and the port is pointed to it when it is known what its
 * targets are worth. Those that never become healthy do not hold it up: AWS comes to a verdict about each.
 */
export function needsWarmUp(
  wanted: DesiredTargetGroup | undefined,
  loadBalancerArn: string,
  { observed }: UsableTargetGroup,
  present: ObservedTargetGroup | undefined,
): boolean {
  const isServing = present?.health.some(({ TargetHealth }) => TargetHealth.State === 'healthy') === true;
  if (!isServing || wanted === undefined || wanted.targets.length === 0) return false;
  if (observed?.targetGroup.LoadBalancerArns.includes(loadBalancerArn) !== true) return true;
  const states = new Map(observed.health.map(({ Target, TargetHealth }) => [`${Target.Id} ${Target.Port}`, TargetHealth.State]));
  const verdicts = wanted.targets.map(({ id, port }) => states.get(`${id} ${port}`) ?? 'initial');
  // unused: in a zone that the load balancer does not serve, or not seen to be attached yet.
  return verdicts.includes('initial') || verdicts.every((state) => state === 'unused');
}

/** One that no listener has, and none is to have. Undefined: a load balancer has room for no more listeners, and the change is made without. */
export function freePort(taken: ReadonlySet<number>, quota: number = limits.listenersPerNlb): number | undefined {
  if (taken.size >= quota) return undefined;
  for (let port = 65_535; port > 0; port--) if (!taken.has(port)) return port;
  return undefined;
}

/** The one who listens like the port will: AWS lets no other forward to its group. */
export function planWarmUp(steps: Steps, LoadBalancerArn: string, port: number, wanted: DesiredListener, group: UsableTargetGroup): void {
  const [certificate] = wanted.certificates;
  steps.addAction(`listener ${port}: create`, 'elbv2:CreateListener', {
    input: {
      LoadBalancerArn,
      Port: port,
      Protocol: wanted.protocol,
      DefaultActions: [{ Type: 'forward', TargetGroupArn: group.arn }],
      ...(certificate === undefined ? {} : { Certificates: [{ CertificateArn: certificate }] }),
      ...defined({ SslPolicy: wanted.sslPolicy }),
      Tags: tagList({ ...wanted.tags, [tagKeys.resource]: resources.listener(port) }),
    },
    reason: `for as long as AWS takes to check the new targets of port ${wanted.port}`,
    needs: [group.needs],
    creates: `listener ${port}`,
  });
}

/** Listeners on ports that nobody asks for, which forward to a group that somebody does. */
export function findWarmUpListeners(
  listeners: Iterable<ObservedListener>,
  groups: Iterable<UsableTargetGroup>,
): readonly ObservedListener[] {
  const arns = new Set([...groups].map(({ arn }) => arn));
  return [...listeners].filter(({ listener }) => arns.has(listener.DefaultActions[0]?.TargetGroupArn ?? ''));
}
