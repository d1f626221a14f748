import { defined } from '../../../lang/defined.ts';
import { parseAddress } from '../../../net/address.ts';
import { slotTableSizes } from '../../../net/frontend.ts';
import { annotations } from '../../annotations.ts';
import type { Labels } from '../../objects/metadata.ts';
import { loadBalancingNames, loadBalancingOf } from '../../objects/load-balancing.ts';
import type { Service } from '../../objects/service.ts';
import type { FieldReader } from '../../reading/fields.ts';
import { isSubdomainName } from '../../reading/metadata.ts';

/** Reads the annotations about announcing a Service. An invalid one is left out, because a mistake must not withdraw the Service. */
export function readAnnouncement(
  fields: FieldReader,
  values: Labels,
): Pick<Service, 'hostname' | 'drain' | 'advertiseClusterIP' | 'advertiseExternalIPs'> {
  const hostname = readHostname(fields, values);
  const drain = readSwitch(fields, values, annotations.drain);
  const advertiseClusterIP = readSwitch(fields, values, annotations.advertiseClusterIP);
  const advertiseExternalIPs = readSwitch(fields, values, annotations.advertiseExternalIPs);
  return defined({ hostname, drain, advertiseClusterIP, advertiseExternalIPs });
}

/** Reads the host name by the API server's rule for a status. With an invalid name the API server would refuse the addresses too. */
function readHostname(fields: FieldReader, values: Labels): string | undefined {
  const written = values[annotations.hostname] ?? '';
  if (written === '' || (isSubdomainName(written) && !parseAddress(written).ok)) return written === '' ? undefined : written;
  return fields.annotationProblem(annotations.hostname, written, 'write a DNS name, such as web.example.com');
}

/** Reads how a backend is chosen. An invalid annotation is left out, because a mistake must not stop the Service's forwarding. */
export function readBalancing(fields: FieldReader, values: Labels): Pick<Service, 'loadBalancing' | 'hashSlots'> {
  const read = <const T extends string | number>(name: string, allowed: readonly T[]): T | undefined => {
    const written = values[name] ?? '';
    const found = allowed.find((value) => String(value) === written);
    if (written !== '' && found === undefined) fields.annotationProblem(name, written, `write one of ${allowed.join(', ')}`);
    return found;
  };
  const loadBalancing = loadBalancingOf(read(annotations.loadBalancing, loadBalancingNames) ?? '');
  const hashSlots = read(annotations.hashSlots, slotTableSizes);
  return defined({ loadBalancing, hashSlots });
}

/**
 * Reads an annotation that is "true" or "false". An invalid value is left out, because a mistake must not stop the Service's forwarding.
 */
export function readSwitch(fields: FieldReader, values: Labels, name: string): boolean | undefined {
  const written = values[name] ?? '';
  if (written === 'true' || written === 'false') return written === 'true';
  return written === '' ? undefined : fields.annotationProblem(name, written, 'write "true" or "false"');
}
