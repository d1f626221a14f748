import type { AllocationRequest } from './request.ts';

/**
 * Why two Services may not hold the same address, in words that follow the name of the one that has it; undefined where
 * they may. Symmetric. MetalLB's rules with two holes closed: a key counts within one namespace only, so that nobody joins
 * an address by guessing a key; and an empty selector does not make policy Local shareable, because nothing then says
 * that both Services have the same endpoints on the same nodes.
 */
export function whyNotShared(a: AllocationRequest, b: AllocationRequest): string | undefined {
  if (a.sharingKey === undefined || a.sharingKey === '' || b.sharingKey === undefined || b.sharingKey === '') {
    return 'not both Services have a sharing key';
  }
  if (a.namespace !== b.namespace) return 'only Services of one namespace can share';
  if (a.sharingKey !== b.sharingKey) return 'the sharing keys differ';
  if (a.externalTrafficPolicy !== b.externalTrafficPolicy) return 'their externalTrafficPolicy differs';
  if (a.externalTrafficPolicy === 'Local' && (a.selectorText === '' || a.selectorText !== b.selectorText)) {
    return 'with externalTrafficPolicy Local both need the same selector';
  }
  const clash = a.ports.find((port) => b.ports.some((other) => port.protocol === other.protocol && port.port === other.port));
  return clash === undefined ? undefined : `port ${clash.port}/${clash.protocol} is in use`;
}

/** Services of one group are candidates for sharing; undefined: the Service shares with nobody. */
export function sharingGroup({ namespace, sharingKey }: AllocationRequest): string | undefined {
  return sharingKey === undefined || sharingKey === '' ? undefined : `${namespace}/${sharingKey}`;
}
