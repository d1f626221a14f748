import { formatAddress, type Address } from '../../net/address.ts';
import { prefixContains, type Prefix } from '../../net/prefix.ts';
import { reason, type Reason } from '../../model/reasons.ts';
import { selects } from '../../model/objects/label-selector.ts';
import type { Service } from '../../model/objects/service.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { namespaceLabels } from '../namespace-labels.ts';
import { whyNotForwarded } from './service-proxy-name.ts';

/** Returns the prefixes around an external IP that policies allow the namespace. None: it is neither forwarded nor announced. */
export function allowedExternalPrefixes(snapshot: Snapshot, namespace: string, address: Address): Prefix[] {
  const labels = namespaceLabels(snapshot, namespace);
  return [...snapshot.externalIPPolicies.values()]
    .filter(({ namespaceSelector }) => selects(namespaceSelector, labels))
    .flatMap(({ cidrs }) => cidrs.filter((cidr) => prefixContains(cidr, address)));
}

/** Returns why an external IP is not allowed. Undefined when it is. */
export function whyExternalIPDenied(snapshot: Snapshot, namespace: string, address: Address): Reason | undefined {
  if (allowedExternalPrefixes(snapshot, namespace, address).length > 0) return undefined;
  return reason('ExternalIPNotAllowed', { address: formatAddress(address), namespace });
}

/** Returns why the first external IP that no policy allows does not work. Undefined: all are allowed, or none would work. */
export function deniedExternalIP(snapshot: Snapshot, service: Service): Reason | undefined {
  const { config, advertisements } = snapshot;
  if (service.externalIPs.length === 0 || service.type === 'ExternalName') return undefined;
  if (whyNotForwarded(service, config.serviceProxyName) !== undefined) return undefined;
  const isAnnounced = [...advertisements.values()].some(({ addressTypes }) => addressTypes.includes('ExternalIP'));
  if (config.services === 'none' && !isAnnounced) return undefined;
  const { namespace } = service.metadata;
  for (const address of service.externalIPs) {
    const denied = whyExternalIPDenied(snapshot, namespace, address);
    if (denied !== undefined) return denied;
  }
  return undefined;
}
