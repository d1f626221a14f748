import { reason, type Reason } from '../../model/reasons.ts';
import type { Service } from '../../model/service.ts';

/** Why a Service is not for us to forward, whatever its addresses; undefined where it is. */
export function whyNotServed(service: Service): Reason | undefined {
  if (service.serviceProxyName !== undefined) return reason('OtherProxy', { name: service.serviceProxyName });
  if (service.type === 'ExternalName') return reason('ExternalName', undefined);
  if (service.headless) return reason('Headless', undefined);
  return undefined;
}
