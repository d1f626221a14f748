import { defined } from '../../../lang/defined.ts';
import { parseAddressLeniently } from '../../../net/address.ts';
import { limits } from '../../limits.ts';
import type { Ingress } from '../../objects/service.ts';
import type { FieldReader } from '../../reading/fields.ts';

/**
 * Reads status.loadBalancer of a Service, from a manifest or a record. Other programs may have written it, with more entries than Herald
 * writes.
 */
export function readIngress(loadBalancer: FieldReader): Ingress[] {
  return loadBalancer.objects('ingress', limits.ingressRead).flatMap((item) => {
    const address = item.parsed('ip', parseAddressLeniently);
    const hostname = item.text('hostname');
    const ipMode = item.oneOf('ipMode', ['VIP', 'Proxy']) ?? 'VIP';
    item.raw('ports');
    if (address === undefined && (hostname === undefined || hostname === '')) return [];
    return [{ ...defined({ address }), ...(hostname === undefined || hostname === '' ? {} : { hostname }), ipMode }];
  });
}
