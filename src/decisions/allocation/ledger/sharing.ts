import { commonPort, haveSameSharingKey } from '../../../model/objects/sharing-terms.ts';
import type { AllocationRequest } from '../request.ts';

interface NotShared {
  /** Words that follow the name of the holder: "has sharing key ...". They name what differs, with both values. */
  readonly why: string;
  /** Which to make equal, as imperatives. */
  readonly remedy: string;
}

/**
 * Returns why a Service may not hold an address that `holder` has. Undefined when it may; that is symmetric. These are MetalLB's rules with
 * two holes closed. A key counts within one namespace, and beyond it only when each Service admits the other's namespace, so that guessing
 * a key is not enough. An empty selector does not make policy Local shareable, because nothing says that both Services have the same
 * endpoints on the same nodes. The key of a Service that does not admit the namespace is not told.
 */
export function whyNotShared(service: AllocationRequest, holder: AllocationRequest): NotShared | undefined {
  if (!hasKey(service) && !hasKey(holder)) {
    const remedy = `annotate both Services with the same herald.dev/allow-shared-ip${bothNamespaces(service, holder)}`;
    return { why: 'neither Service has a sharing key (herald.dev/allow-shared-ip)', remedy };
  }
  const differences = [consent(service, holder) ?? key(service, holder), policy(service, holder), port(service, holder)].flatMap(
    (difference) => difference ?? [],
  );
  if (differences.length === 0) return undefined;
  return { why: differences.map(({ why }) => why).join('; '), remedy: differences.map(({ remedy }) => remedy).join('; ') };
}

function hasKey({ sharingKey }: AllocationRequest): boolean {
  return sharingKey !== undefined && sharingKey !== '';
}

function bothNamespaces(a: AllocationRequest, b: AllocationRequest): string {
  return a.namespace === b.namespace ? '' : ' and with herald.dev/allow-shared-ip-namespaces that names the other namespace';
}

function consent(service: AllocationRequest, holder: AllocationRequest): NotShared | undefined {
  const missing = [
    ...(admits(service, holder) ? [] : [[service.service, holder.namespace] as const]),
    ...(admits(holder, service) ? [] : [[holder.service, service.namespace] as const]),
  ];
  if (missing.length === 0) return undefined;
  return {
    why: missing.map(([of, namespace]) => `${of} does not admit namespace ${namespace}`).join(', and '),
    remedy: missing
      .map(([of, namespace]) => `add ${namespace} to herald.dev/allow-shared-ip-namespaces of ${of}`)
      .concat(haveSameSharingKey(service, holder) ? [] : ['give both Services the same herald.dev/allow-shared-ip'])
      .join('; '),
  };
}

function key(service: AllocationRequest, holder: AllocationRequest): NotShared | undefined {
  if (haveSameSharingKey(service, holder)) return undefined;
  const [own, other] = [keyText(service), keyText(holder)];
  const of = hasKey(holder) ? service.service : holder.service;
  return {
    why: `${holder.service} has ${other}, and ${service.service} has ${own}`,
    remedy: `set herald.dev/allow-shared-ip of ${of} to ${JSON.stringify(hasKey(holder) ? holder.sharingKey : service.sharingKey)}`,
  };
}

function keyText(one: AllocationRequest): string {
  return hasKey(one) ? `sharing key ${JSON.stringify(one.sharingKey)}` : 'no sharing key';
}

function policy(service: AllocationRequest, holder: AllocationRequest): NotShared | undefined {
  const [own, other] = [service.externalTrafficPolicy, holder.externalTrafficPolicy];
  if (own !== other)
    return {
      why: `${holder.service} has externalTrafficPolicy ${other}, and ${service.service} has ${own}`,
      remedy: `set spec.externalTrafficPolicy: ${other} on ${service.service}`,
    };
  if (own !== 'Local' || (service.selectorText !== '' && service.selectorText === holder.selectorText)) return undefined;
  const [ours, theirs] = [service, holder].map(({ selectorText }) => (selectorText === '' ? 'none' : selectorText));
  return {
    why: `with externalTrafficPolicy Local both need the same selector: ${holder.service} has ${theirs}, and ${service.service} has ${ours}`,
    remedy: 'give both Services the same selector, or set spec.externalTrafficPolicy: Cluster on both',
  };
}

function port(service: AllocationRequest, holder: AllocationRequest): NotShared | undefined {
  const common = commonPort(service, holder);
  return common === undefined ? undefined : { why: `both have port ${common}`, remedy: `change port ${common} of ${service.service}` };
}

/** True when the first Service lets Services of the second's namespace join an address that it holds. */
export function admits({ namespace, sharingNamespaces }: AllocationRequest, other: AllocationRequest): boolean {
  return namespace === other.namespace || sharingNamespaces.includes('*') || sharingNamespaces.includes(other.namespace);
}

/** Returns the group of Services that may share an address. Undefined when the Service shares with none. */
export function sharingGroup({ sharingKey }: AllocationRequest): string | undefined {
  return sharingKey === '' ? undefined : sharingKey;
}
