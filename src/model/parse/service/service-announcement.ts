import { defined } from '../../../lang/defined.ts';
import { parseAddress } from '../../../net/address.ts';
import { annotations } from '../../annotations.ts';
import { limits } from '../../limits.ts';
import type { Labels } from '../../objects/metadata.ts';
import type { Service } from '../../objects/service.ts';
import { isSubdomainName } from '../../reading/metadata.ts';
import type { FieldReader } from '../../reading/fields.ts';
import { readSwitch } from './switch-annotation.ts';

/** Reads the annotations about announcing a Service. An invalid one is left out, because a mistake must not withdraw the Service. */
export function readAnnouncement(
  fields: FieldReader,
  values: Labels,
): Pick<Service, 'hostname' | 'drain' | 'advertiseClusterIP' | 'advertiseExternalIPs'> {
  const hostname = readHostname(fields, values);
  const drain = readSwitch(fields, values, annotations.drain);
  const advertiseClusterIP = readSwitch(fields, values, annotations.advertiseClusterIP);
  const advertiseExternalIPs = readSwitch(fields, values, annotations.advertiseExternalIPs);
  return {
    ...defined({ hostname, drain, advertiseClusterIP, advertiseExternalIPs }),
  };
}

/** Reads the host name by the API server's rule for a status. With an invalid name the API server would refuse the addresses too. */
function readHostname(fields: FieldReader, values: Labels): string | undefined {
  const written = values[annotations.hostname] ?? '';
  if (written === '' || (isSubdomainName(written) && !parseAddress(written).ok)) return written === '' ? undefined : written;
  const shown = JSON.stringify(written.slice(0, limits.shownValue));
  fields.partialProblem(['metadata', 'annotations', annotations.hostname], `is ${shown}`, 'write a DNS name, such as web.example.com');
  return undefined;
}
