import { defined } from '../../../../src/lang/defined.ts';
import { limits } from '../../model/limits.ts';
import { isQuic } from '../../model/protocols.ts';
import { resources, tagKeys, tagList } from '../../model/tags.ts';
import type { DesiredListener, DesiredTargetGroup } from '../../model/desired.ts';
import type { ObservedListener, ObservedTargetGroup } from '../../model/observed.ts';
import { actionOf, forwardingOf, type Forwarding } from '../../cloud/forwarding.ts';
import type { Steps } from '../steps/steps.ts';
import type { UsableTargetGroup } from './target-groups.ts';

/**
 * True if the new target group needs a temporary listener. AWS checks targets only after a listener forwards to their group. If the port
 * were switched at once, it would not answer until the first check has passed. So the group first gets a temporary listener on an unused
 * port, and the port is switched when AWS knows the health of the new targets. Targets that never become healthy do not delay this, because
 * AWS reports a result for each. `isAttached`: a listener forwards to the group.
 */
export function needsWarmUp(
  wanted: DesiredTargetGroup | undefined,
  isAttached: boolean,
  { observed }: UsableTargetGroup,
  present: ObservedTargetGroup | undefined,
): boolean {
  // Beside a QUIC listener AWS allows no other one for UDP or QUIC.
  if ([wanted?.protocol, present?.targetGroup.Protocol].some((protocol) => protocol !== undefined && isQuic(protocol))) return false;
  const isServing = present?.health.some(({ TargetHealth }) => TargetHealth.State === 'healthy') === true;
  if (!isServing || wanted === undefined || wanted.targets.length === 0) return false;
  if (observed === undefined || !isAttached) return true;
  const states = new Map(observed.health.map(({ Target, TargetHealth }) => [`${Target.Id} ${Target.Port}`, TargetHealth.State]));
  const verdicts = wanted.targets.map(({ id, port }) => states.get(`${id} ${port}`) ?? 'initial');
  // unused: the target is in a zone that the load balancer does not serve, or AWS does not see the group as attached yet.
  return verdicts.includes('initial') || verdicts.every((state) => state === 'unused');
}

/**
 * Returns a port that no existing or desired listener uses. Undefined: the load balancer has no room for another listener, so the change is
 * made without a temporary one.
 */
export function freePort(taken: ReadonlySet<number>, quota: number = limits.listenersPerNlb): number | undefined {
  if (taken.size >= quota) return undefined;
  for (let port = 65_535; port > 0; port--) if (!taken.has(port)) return port;
  return undefined;
}

/** Creates the temporary listener with the protocol of the desired one, because AWS allows no other protocol to forward to the group. */
export function planWarmUp(
  steps: Steps,
  { loadBalancer, port }: { readonly loadBalancer: string; readonly port: number },
  wanted: DesiredListener,
  forwarding: Forwarding,
  needs: readonly (string | undefined)[],
): void {
  const [certificate] = wanted.certificates;
  steps.addAction(`listener ${port}: create`, 'elbv2:CreateListener', {
    input: {
      LoadBalancerArn: loadBalancer,
      Port: port,
      Protocol: wanted.protocol,
      DefaultActions: [actionOf(forwarding)],
      ...(certificate === undefined ? {} : { Certificates: [{ CertificateArn: certificate }] }),
      ...defined({ SslPolicy: wanted.sslPolicy }),
      Tags: tagList({ ...wanted.tags, [tagKeys.resource]: resources.listener(port) }),
    },
    reason: `temporary, so that AWS checks the new targets of port ${wanted.port}`,
    needs,
    creates: `listener ${port}`,
  });
}

/** Returns surplus listeners that forward to a target group in use. These are the temporary ones. */
export function findWarmUpListeners(
  listeners: Iterable<ObservedListener>,
  groups: Iterable<UsableTargetGroup>,
): readonly ObservedListener[] {
  const arns = new Set([...groups].map(({ arn }) => arn));
  return [...listeners].filter(({ listener }) => [...forwardingOf(listener).groups.keys()].some((arn) => arns.has(arn)));
}
