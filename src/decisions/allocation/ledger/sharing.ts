import type { AllocationRequest } from '../request.ts';

/**
 * Why two Services may not hold the same address, in words that follow the name of the one that has it; undefined where
 * they may. Symmetric. MetalLB's rules with two holes closed: a key counts within one namespace, and beyond it only where each
 * of the two admits the other's, so that nobody joins an address by guessing a key; and an empty selector does not make policy Local shareable, because nothing then says
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

/** Whether the first lets Services of the second's namespace join an address that it holds. */
export function admits({ namespace, sharingNamespaces }: AllocationRequest, other: AllocationRequest): boolean {
  return namespace === other.namespace || sharingNamespaces.includes('*') || sharingNamespaces.includes(other.namespace);
}

/** Services with one key may be candidates for sharing; undefined: the Service shares with nobody. */
export function sharingGroup({ sharingKey }: AllocationRequest): string | undefined {
  return sharingKey === '' ? undefined : sharingKey;
}
