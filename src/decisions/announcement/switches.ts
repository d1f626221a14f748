import { annotations } from '../../model/annotations.ts';
import type { AddressType, HeraldConfig } from '../../model/kinds/types.ts';
import { reason, type Reason } from '../../model/reasons.ts';
import type { Service } from '../../model/objects/service.ts';

/**
 * Returns why an address stays unannounced although a BGPAdvertisement covers it: its Service switched it off, or HeraldConfig does for
 * Services without the annotation. A Service cannot switch an announcement on by itself: permission to write Services is no authority over
 * the network.
 */
export function whySwitchedOff(service: Service, type: AddressType, config: HeraldConfig): Reason | undefined {
  switch (type) {
    case 'LoadBalancer':
      return undefined;
    case 'ClusterIP':
      return offBy(type, service.advertiseClusterIP, config.advertiseClusterIPs, annotations.advertiseClusterIP, 'advertiseClusterIPs');
    case 'ExternalIP':
      return offBy(
        type,
        service.advertiseExternalIPs,
        config.advertiseExternalIPs,
        annotations.advertiseExternalIPs,
        'advertiseExternalIPs',
      );
  }
}

function offBy(type: AddressType, own: boolean | undefined, usual: boolean, annotation: string, field: string): Reason | undefined {
  if (own ?? usual) return undefined;
  return reason('AdvertisingOff', { type, annotation, by: own === undefined ? `${field} of HeraldConfig` : 'the Service' });
}
