import type { ClassicListener } from '../../cloud/elb.ts';
import { limits } from '../../model/limits.ts';
import type { DesiredClassic } from '../../model/desired.ts';
import type { ObservedClassic } from '../../model/observed.ts';
import type { Steps } from '../steps/steps.ts';
import { freePort } from '../nlb/warm-up.ts';

/**
 * Plans the changes of listeners. A new certificate is set without an outage. Any other change requires a new listener, and a Classic ELB
 * has one listener per port: the replacement follows in the very next call, and if AWS refuses it, the old listener is restored. Returns
 * the ids of the actions that create listeners, by port.
 */
export function planClassicListeners(steps: Steps, desired: DesiredClassic, current: ObservedClassic): ReadonlyMap<number, string> {
  const { LoadBalancerName, ListenerDescriptions } = current.loadBalancer;
  const existing = new Map(ListenerDescriptions.map(({ Listener }) => [Listener.LoadBalancerPort, Listener]));
  const wanted = new Set(desired.listeners.map(({ LoadBalancerPort }) => LoadBalancerPort));
  const others = [...existing.values()].filter(({ LoadBalancerPort }) => !wanted.has(LoadBalancerPort));
  const taken = new Set([...wanted, ...existing.keys()]);
  const made = new Map<number, string>();
  const trials = new Set<ClassicListener>();
  for (const listener of desired.listeners) {
    const { LoadBalancerPort: port, SSLCertificateId } = listener;
    const present = existing.get(port);
    if (present === undefined) {
      made.set(port, create(steps, LoadBalancerName, listener, `nothing listens on port ${port}`));
    } else if (!equalsExceptCertificate(present, listener)) {
      const trial = others.find(
        (one) => equalsExceptCertificate(one, listener) && one.SSLCertificateId === SSLCertificateId && !trials.has(one),
      );
      if (trial !== undefined) trials.add(trial);
      const id = planReplacement(steps, current, { listener, present, trialPort: trial?.LoadBalancerPort }, taken);
      if (id !== undefined) made.set(port, id);
    } else if (SSLCertificateId !== undefined && present.SSLCertificateId !== SSLCertificateId) {
      steps.addAction(`listener ${port}: certificate`, 'elb:SetLoadBalancerListenerSSLCertificate', {
        input: { LoadBalancerName, LoadBalancerPort: port, SSLCertificateId },
        reason: `its certificate is ${present.SSLCertificateId ?? 'none'}`,
      });
    }
  }
  const surplus = others.filter((one) => !trials.has(one)).map(({ LoadBalancerPort }) => LoadBalancerPort);
  if (surplus.length > 0) {
    steps.addAction('listeners: delete', 'elb:DeleteLoadBalancerListeners', {
      input: { LoadBalancerName, LoadBalancerPorts: surplus },
      reason: `no Service has ports ${surplus.join(', ')} any more`,
    });
  }
  return made;
}

function create(steps: Steps, LoadBalancerName: string, listener: ClassicListener, reason: string): string {
  const input = { LoadBalancerName, Listeners: [listener] };
  return steps.addAction(`listener ${listener.LoadBalancerPort}: create`, 'elb:CreateLoadBalancerListeners', { input, reason });
}

interface Replacement {
  readonly listener: ClassicListener;
  readonly present: ClassicListener;
  /** The port on which the new listener exists already. */
  readonly trialPort: number | undefined;
}

/**
 * Plans the replacement of a listener. A listener with a certificate is first created on a free port, to find out if AWS accepts it. A
 * listener to another instance port is also created on a free port and stays there until the next reconcile, because nodes must first admit
 * the load balancer on that port. Returns undefined if the listener is not replaced yet.
 */
function planReplacement(
  steps: Steps,
  { loadBalancer: { LoadBalancerName, ListenerDescriptions } }: ObservedClassic,
  { listener, present, trialPort }: Replacement,
  taken: Set<number>,
): string | undefined {
  const port = listener.LoadBalancerPort;
  const isElsewhere = present.InstancePort !== listener.InstancePort;
  const needsTrial = trialPort === undefined && (isElsewhere || listener.SSLCertificateId !== undefined);
  const free = needsTrial ? freePort(taken, limits.listenersPerClassic) : undefined;
  const reason = `to test if AWS accepts the new listener of port ${port}`;
  const tried = free === undefined ? undefined : create(steps, LoadBalancerName, { ...listener, LoadBalancerPort: free }, reason);
  if (free !== undefined) taken.add(free);
  if (free !== undefined && isElsewhere) {
    steps.wait(`nodes to admit the load balancer on port ${listener.InstancePort}`);
    return undefined;
  }
  const differing = (['Protocol', 'InstanceProtocol', 'InstancePort'] as const).filter((key) => present[key] !== listener[key]);
  const spare = trialPort ?? free;
  const deleted = steps.addAction(`listener ${port}: delete`, 'elb:DeleteLoadBalancerListeners', {
    input: { LoadBalancerName, LoadBalancerPorts: spare === undefined ? [port] : [port, spare] },
    reason: `its ${differing.join(', ')} differ, and AWS cannot change them`,
    needs: [tried],
  });
  const PolicyNames = ListenerDescriptions.find(({ Listener }) => Listener === present)?.PolicyNames ?? [];
  const policies = { LoadBalancerName, LoadBalancerPort: port, PolicyNames };
  return steps.addAction(`listener ${port}: create`, 'elb:CreateLoadBalancerListeners', {
    input: { LoadBalancerName, Listeners: [listener] },
    reason: `port ${port} needs its new listener`,
    needs: [deleted],
    otherwise: [
      { operation: 'elb:CreateLoadBalancerListeners', input: { LoadBalancerName, Listeners: [present] } },
      ...(PolicyNames.length === 0 ? [] : [{ operation: 'elb:SetLoadBalancerPoliciesOfListener', input: policies } as const]),
    ],
  });
}

function equalsExceptCertificate(a: ClassicListener, b: ClassicListener): boolean {
  return a.Protocol === b.Protocol && a.InstanceProtocol === b.InstanceProtocol && a.InstancePort === b.InstancePort;
}
