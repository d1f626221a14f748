import { reason, type Reason } from '../../model/reasons.ts';
import type { Service } from '../../model/objects/service.ts';

/**
 * Returns why a Service is not ours to forward, whatever its addresses. Undefined when it is. `ownName` is the proxy name by which Services
 * ask for Herald; without one, Herald forwards Services that name no proxy, as kube-proxy does.
 */
export function whyNotForwarded(service: Service, ownName: string | undefined): Reason | undefined {
  const { serviceProxyName } = service;
  if (serviceProxyName !== undefined && serviceProxyName !== ownName) return reason('OtherProxy', { name: serviceProxyName });
  if (service.type === 'ExternalName') return reason('ExternalName', undefined);
  if (service.headless) return reason('Headless', undefined);
  return undefined;
}
