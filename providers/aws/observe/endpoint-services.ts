import type { ReadOnlyCloud } from '../cloud/cloud.ts';
import type { ObservedEndpointService } from '../model/observed.ts';
import { tagKeys, tagMap } from '../model/tags.ts';
import { unlessMissing } from './tolerate-missing.ts';

/** Reads the endpoint services of a stack. The first by id is kept if there are several, so the order is fixed. */
export async function observeEndpointServices(
  cloud: ReadOnlyCloud,
  { cluster, stack }: { readonly cluster: string; readonly stack: string },
): Promise<ObservedEndpointService[]> {
  const wanted = { [tagKeys.cluster]: cluster, [tagKeys.stack]: stack };
  const Filters = Object.entries(wanted).map(([key, value]) => ({ Name: `tag:${key}`, Values: [value] }));
  const { ServiceConfigurations } = await cloud.call('ec2:DescribeVpcEndpointServiceConfigurations', { Filters });
  const found: ObservedEndpointService[] = [];
  for (const service of ServiceConfigurations) {
    const tags = tagMap(service.Tags);
    // moto ignores the filters.
    const isOfStack = Object.entries(wanted).every(([key, value]) => tags[key] === value);
    if (!isOfStack || service.ServiceState === 'Deleting' || service.ServiceState === 'Deleted') continue;
    const { ServiceId } = service;
    const permissions = await unlessMissing(async () => [await cloud.call('ec2:DescribeVpcEndpointServicePermissions', { ServiceId })]);
    for (const { AllowedPrincipals } of permissions)
      found.push({ service, tags, principals: AllowedPrincipals.map(({ Principal }) => Principal) });
  }
  return found.toSorted((a, b) => (a.service.ServiceId < b.service.ServiceId ? -1 : 1));
}
