import type { AllocationRequest } from '../request.ts';

/**
 * Returns why two Services may not hold the same address, as words that follow the name of its holder. Undefined when they may. Symmetric.
 * These are MetalLB's rules with two holes closed. A key counts within one namespace, and beyond it only when each Service admits the
 * other's namespace, so that guessing a key is not enough. An empty selector does not make policy Local shareable, because nothing says
 * that both Services have the same endpoints on the same nodes.
 */
export function whyNotShared(a: AllocationRequest, b: AllocationRequest): string | undefined {
  if (a.sharingKey === undefined || a.sharingKey === '' || b.sharingKey === undefined || b.sharingKey === '') {
    return 'not both Services have a sharing key';
  }
  const stranger = [admits(a, b), admits(b, a)].indexOf(false);
  if (stranger >= 0) {
    const [of, other] = stranger === 0 ? [a, b] : [b, a];
    return `${of.service} does not admit namespace ${other.namespace} (herald.dev/allow-shared-ip-namespaces)`;
  }
  if (a.sharingKey !== b.sharingKey) return 'the sharing keys differ';
  if (a.externalTrafficPolicy !== b.externalTrafficPolicy) return 'their externalTrafficPolicy differs';
  if (a.externalTrafficPolicy === 'Local' && (a.selectorText === '' || a.selectorText !== b.selectorText)) {
    return 'with externalTrafficPolicy Local both need the same selector';
  }
  const clash = a.ports.find((port) => b.ports.some((other) => port.protocol === other.protocol && port.port === other.port));
  return clash === undefined ? undefined : `port ${clash.port}/${clash.protocol} is in use`;
}

/** True when the first Service lets Services of the second's namespace join an address that it holds. */
export function admits({ namespace, sharingNamespaces }: AllocationRequest, other: AllocationRequest): boolean {
  return namespace === other.namespace || sharingNamespaces.includes('*') || sharingNamespaces.includes(other.namespace);
}

/** Returns the group of Services that may share an address. Undefined when the Service shares with none. */
export function sharingGroup({ sharingKey }: AllocationRequest): string | undefined {
  return sharingKey === '' ? undefined : sharingKey;
}
