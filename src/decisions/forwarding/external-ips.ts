import { formatAddress, type Address } from '../../net/address.ts';
import { reason, type Reason } from '../../model/reasons.ts';
import type { Service } from '../../model/objects/service.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { allowedExternalPrefixes } from '../external-ip-policy.ts';
import { whyNotForwarded } from './service-proxy-name.ts';

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
