import { defined } from '../../../src/lang/defined.ts';
import { reason } from '../../../src/model/reasons.ts';
import { annotationTable, type AnnotationName, type AnnotationValues } from '../annotations/table.ts';
import type { IpAddressType } from '../cloud/elbv2.ts';
import type { DesiredEndpointService } from '../model/desired.ts';
import type { Issues } from '../model/issues.ts';
import type { Tags } from '../model/observed.ts';

const details = [
  'acceptanceRequired',
  'allowedPrincipals',
  'privateDnsName',
  'endpointIpTypes',
] as const satisfies readonly AnnotationName[];

/** Returns the PrivateLink endpoint service that the Service asks for. Undefined: none. `tags`: those of the NLB. */
export function endpointServiceOf(
  values: AnnotationValues,
  ipAddressType: IpAddressType,
  tags: Tags,
  issues: Issues,
): DesiredEndpointService | undefined {
  const { endpointService, acceptanceRequired = true, allowedPrincipals = [], privateDnsName, endpointIpTypes = ['ipv4'] } = values;
  if (endpointService !== true) {
    const unused = endpointService === false ? [] : details.filter((name) => values[name] !== undefined);
    const instead = `set ${annotationTable.endpointService.key}: "true", or remove it`;
    for (const name of unused) issues.warn(reason('AwsFieldWithoutEffect', { field: `annotation ${annotationTable[name].key}`, instead }));
    return undefined;
  }
  if (endpointIpTypes.includes('ipv6') && ipAddressType === 'ipv4') {
    const problem = `has ipv6, but the NLB is ipv4; set ${annotationTable.ipAddressType.key}: dualstack`;
    issues.invalid(annotationTable.endpointIpTypes.key, problem);
  }
  return {
    acceptanceRequired,
    principals: [...new Set(allowedPrincipals)].toSorted(),
    ipAddressTypes: [...new Set(endpointIpTypes)].toSorted(),
    tags,
    ...defined({ privateDnsName }),
  };
}
