import { reason, type Reason } from '../../model/reasons.ts';
import type { Service } from '../../model/objects/service.ts';

/**
 * Why a Service is not for us to forward, whatever its addresses; undefined where it is. `ownName` is the name under which
 * Services ask for Herald; without one, Herald serves those that ask for nobody (kube-proxy does too).
 */
export function whyNotServed(service: Service, ownName: string | undefined): Reason | undefined {
  const { serviceProxyName } = service;
  if (serviceProxyName !== undefined && serviceProxyName !== ownName) return reason('OtherProxy', { name: serviceProxyName });
  if (service.type === 'ExternalName') return reason('ExternalName', undefined);
  if (service.headless) return reason('Headless', undefined);
  return undefined;
}
