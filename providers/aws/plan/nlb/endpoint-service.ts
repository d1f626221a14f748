import { tagKeys, tagList } from '../../model/tags.ts';
import type { DesiredEndpointService, DesiredNlb } from '../../model/desired.ts';
import type { ObservedEndpointService, ObservedLoadBalancer, Tags } from '../../model/observed.ts';
import { planEndpointServiceRemoval } from '../steps/endpoint-service-removal.ts';
import { placeholder } from '../steps/action.ts';
import type { PlanInput } from '../steps/input.ts';
import { planTags, type Steps } from '../steps/steps.ts';

/** Returns the tags of the NLB. Its mark stays until its endpoint service is gone: without it Herald does not look for the service. */
export function markedTags({ tags, endpointService }: DesiredNlb, services: readonly ObservedEndpointService[] = []): Tags {
  return endpointService === undefined && services.length > 0 ? { ...tags, [tagKeys.endpointService]: 'true' } : tags;
}

/**
 * Plans the PrivateLink endpoint service of an NLB. It is created when the NLB is active and has its mark (`tagged`: the action that sets it), so a
 * later controller finds it. While one NLB replaces another, the service has both until the successor `serves`.
 */
export function planEndpointService(
  steps: Steps,
  { desired, observed }: PlanInput<DesiredNlb>,
  current: ObservedLoadBalancer | undefined,
  tagged: string | undefined,
  serves: boolean,
): void {
  const { endpointService: wanted } = desired;
  const [kept, ...surplus] = observed.endpointServices ?? [];
  planEndpointServiceRemoval(
    steps,
    wanted === undefined && kept !== undefined ? [kept, ...surplus] : surplus,
    wanted === undefined ? 'no Service asks for it any more' : 'the NLB has another one',
  );
  // While the NLB is created, Herald waits for it anyway.
  if (wanted === undefined || current === undefined || current.loadBalancer.State.Code === 'provisioning') return;
  const { LoadBalancerArn: arn, LoadBalancerName: name } = current.loadBalancer;
  if (kept === undefined) create(steps, wanted, arn, name, tagged);
  else update(steps, wanted, kept, arn, serves);
}

const what = 'endpoint service';

function create(steps: Steps, wanted: DesiredEndpointService, arn: string, name: string, tagged: string | undefined): void {
  const needs = steps.addAction(`${what}: create`, 'ec2:CreateVpcEndpointServiceConfiguration', {
    input: {
      NetworkLoadBalancerArns: [arn],
      AcceptanceRequired: wanted.acceptanceRequired,
      ...(wanted.privateDnsName === undefined ? {} : { PrivateDnsName: wanted.privateDnsName }),
      SupportedIpAddressTypes: wanted.ipAddressTypes,
      TagSpecifications: [{ ResourceType: 'vpc-endpoint-service', Tags: tagList(wanted.tags) }],
    },
    reason: `${name} has no endpoint service`,
    needs: [tagged],
    creates: what,
  });
  if (wanted.principals.length > 0) {
    steps.addAction(`${what}: principals`, 'ec2:ModifyVpcEndpointServicePermissions', {
      input: { ServiceId: placeholder(what), AddAllowedPrincipals: wanted.principals },
      reason: `${wanted.principals.join(', ')} may connect`,
      needs: [needs],
    });
  }
}

function update(
  steps: Steps,
  wanted: DesiredEndpointService,
  { service, tags, principals }: ObservedEndpointService,
  arn: string,
  serves: boolean,
): void {
  const { ServiceId } = service;
  const servers = difference(service.NetworkLoadBalancerArns, [arn]);
  const types = difference(service.SupportedIpAddressTypes ?? wanted.ipAddressTypes, wanted.ipAddressTypes);
  const { privateDnsName } = wanted;
  const changes = {
    ...(service.AcceptanceRequired === wanted.acceptanceRequired ? {} : { AcceptanceRequired: wanted.acceptanceRequired }),
    ...(service.PrivateDnsName === privateDnsName
      ? {}
      : privateDnsName === undefined
        ? { RemovePrivateDnsName: true as const }
        : { PrivateDnsName: privateDnsName }),
    ...(servers.add.length === 0 ? {} : { AddNetworkLoadBalancerArns: servers.add }),
    ...(servers.remove.length === 0 || !serves ? {} : { RemoveNetworkLoadBalancerArns: servers.remove }),
    ...(types.add.length === 0 ? {} : { AddSupportedIpAddressTypes: types.add }),
    ...(types.remove.length === 0 ? {} : { RemoveSupportedIpAddressTypes: types.remove as typeof types.add }),
  };
  if (Object.keys(changes).length > 0) {
    steps.addAction(`${what}: modify`, 'ec2:ModifyVpcEndpointServiceConfiguration', {
      input: { ServiceId, ...changes },
      reason: `${Object.keys(changes).join(', ')} of ${service.ServiceName}`,
    });
  }
  const allowed = difference(principals, wanted.principals);
  if (allowed.add.length + allowed.remove.length > 0) {
    steps.addAction(`${what}: principals`, 'ec2:ModifyVpcEndpointServicePermissions', {
      input: {
        ServiceId,
        ...(allowed.add.length === 0 ? {} : { AddAllowedPrincipals: allowed.add }),
        ...(allowed.remove.length === 0 ? {} : { RemoveAllowedPrincipals: allowed.remove }),
      },
      reason: 'those who may connect differ',
    });
  }
  planTags(steps, what, { Resources: [ServiceId] }, tags, wanted.tags);
}

function difference<T extends string>(
  actual: readonly string[],
  wanted: readonly T[],
): { readonly add: readonly T[]; readonly remove: readonly string[] } {
  return { add: wanted.filter((one) => !actual.includes(one)), remove: actual.filter((one) => !wanted.includes(one as T)) };
}
