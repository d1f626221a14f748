import { defined } from '../../../lang/defined.ts';
import { parseAddress } from '../../../net/address.ts';
import { annotations } from '../../annotations.ts';
import { limits } from '../../limits.ts';
import type { Labels } from '../../objects/metadata.ts';
import type { Service } from '../../objects/service.ts';
import { isSubdomainName } from '../metadata.ts';
import type { FieldReader } from '../fields.ts';
import { readSwitch } from './switch-annotation.ts';

/** What the owner of a Service says of how its addresses are made known. A mistake must not take it off the air: it is left out. */
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

/** As the API server takes it in a status: with another one it would refuse the addresses as well. */
function readHostname(fields: FieldReader, values: Labels): string | undefined {
  const written = values[annotations.hostname] ?? '';
  if (written === '' || (isSubdomainName(written) && !parseAddress(written).ok)) return written === '' ? undefined : written;
  const shown = JSON.stringify(written.slice(0, limits.shownValue));
  fields.partialProblem(['metadata', 'annotations', annotations.hostname], `is ${shown}`, 'write a DNS name, such as web.example.com');
  return undefined;
}
