import type { AllocationRequest } from '../request.ts';

/** Why two Services may not hold the same address, in words that follow the name of its holder, and the edit that lets them. */
export interface SharingObstacle {
  readonly why: string;
  readonly remedy: string;
}

/**
 * Returns why two Services may not hold the same address. Undefined when they may. Symmetric but for its words, in which `a` asks for what `b`
 * holds. These are MetalLB's rules with two holes closed. A key counts within one namespace, and beyond it only when each Service admits the
 * other's namespace, so that guessing a key is not enough. An empty selector does not make policy Local shareable, because nothing says
 * that both Services have the same endpoints on the same nodes.
 */
export function whyNotShared(a: AllocationRequest, b: AllocationRequest): SharingObstacle | undefined {
  const unkeyed = [a, b].filter(({ sharingKey = '' }) => sharingKey === '').map(({ service }) => service);
  if (unkeyed.length > 0) {
    const why = `${unkeyed.length === 2 ? 'neither it nor this Service' : `Service ${unkeyed[0] ?? ''}`} has ${unkeyed.length === 2 ? 'a' : 'no'} sharing key`;
    const key = a.sharingKey || b.sharingKey || 'KEY';
    return { why, remedy: `to share it, set the annotation herald.dev/allow-shared-ip: ${key} on ${unkeyed.join(' and ')}` };
  }
  const stranger = [admits(a, b), admits(b, a)].indexOf(false);
  if (stranger >= 0) {
    const [of, other] = stranger === 0 ? [a, b] : [b, a];
    return {
      why: `${of.service} does not admit namespace ${other.namespace} (herald.dev/allow-shared-ip-namespaces)`,
      remedy: `to share it, add ${other.namespace} to the annotation herald.dev/allow-shared-ip-namespaces of ${of.service}`,
    };
  }
  if (a.sharingKey !== b.sharingKey) {
    return {
      why: `the sharing keys differ: ${a.service} has "${a.sharingKey}", ${b.service} has "${b.sharingKey}"`,
      remedy: `to share it, set the annotation herald.dev/allow-shared-ip: ${b.sharingKey} on ${a.service}`,
    };
  }
  if (a.externalTrafficPolicy !== b.externalTrafficPolicy) {
    return {
      why: `externalTrafficPolicy of ${a.service} is ${a.externalTrafficPolicy}, and of ${b.service} ${b.externalTrafficPolicy}`,
      remedy: `to share it, set spec.externalTrafficPolicy: ${b.externalTrafficPolicy} on ${a.service}`,
    };
  }
  if (a.externalTrafficPolicy === 'Local' && (a.selectorText === '' || a.selectorText !== b.selectorText)) {
    return {
      why: `with externalTrafficPolicy Local both need the same selector: ${a.service} has "${a.selectorText}", ${b.service} has "${b.selectorText}"`,
      remedy: `to share it, set spec.externalTrafficPolicy: Cluster on both, or give ${a.service} the selector of ${b.service}`,
    };
  }
  const clash = a.ports.find((port) => b.ports.some((other) => port.protocol === other.protocol && port.port === other.port));
  if (clash === undefined) return undefined;
  return {
    why: `both have port ${clash.port}/${clash.protocol}`,
    remedy: `to share it, change port ${clash.port} in spec.ports of ${a.service}`,
  };
}

/** True when the first Service lets Services of the second's namespace join an address that it holds. */
export function admits({ namespace, sharingNamespaces }: AllocationRequest, other: AllocationRequest): boolean {
  return namespace === other.namespace || sharingNamespaces.includes('*') || sharingNamespaces.includes(other.namespace);
}

/** Returns the group of Services that may share an address. Undefined when the Service shares with none. */
export function sharingGroup({ sharingKey }: AllocationRequest): string | undefined {
  return sharingKey === '' ? undefined : sharingKey;
}
