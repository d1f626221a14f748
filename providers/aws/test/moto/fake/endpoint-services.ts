import type { Operation } from '../../../cloud/operations.ts';
import type { Handlers } from './cloud.ts';
import { refuse, region, type FakeEndpointService, type World } from './world.ts';

type Own = Extract<Operation, `ec2:${string}VpcEndpoint${string}`>;

function endpointService(operation: Operation, world: World, id: string): FakeEndpointService {
  return world.endpointServices.get(id) ?? refuse(operation, 'notFound', 'InvalidVpcEndpointServiceId.NotFound', id);
}

/** AWS takes only active NLBs, each in one endpoint service. */
function checkServers(operation: Operation, world: World, arns: readonly string[], types: readonly string[], own?: string): void {
  for (const arn of arns) {
    const server = world.loadBalancers.get(arn) ?? refuse(operation, 'invalid', 'InvalidParameter', arn);
    if (world.now() - server.createdAt < 1) refuse(operation, 'invalid', 'InvalidParameter', 'the load balancer is not active');
    const isTaken = [...world.endpointServices.values()].some(
      ({ value }) => value.ServiceId !== own && value.NetworkLoadBalancerArns.includes(arn),
    );
    if (isTaken) refuse(operation, 'invalid', 'InvalidParameter', 'the load balancer has another endpoint service');
    if (types.includes('ipv6') && server.value.IpAddressType === 'ipv4')
      refuse(operation, 'invalid', 'InvalidParameter', 'the load balancer has no IPv6 addresses');
  }
}

const dnsOf = (name: string): Pick<FakeEndpointService['value'], 'PrivateDnsName' | 'PrivateDnsNameConfiguration'> => ({
  PrivateDnsName: name,
  PrivateDnsNameConfiguration: { State: 'pendingVerification', Name: '_a1b2', Value: 'vpce:c3d4' },
});

export const endpointServiceHandlers: Pick<Handlers, Own> = {
  'ec2:DescribeVpcEndpointServiceConfigurations': (world, { Filters }) => {
    const tagged = (id: string): boolean =>
      Filters.every(({ Name, Values }) => world.tagsOf(id).some(({ Key, Value }) => Name === `tag:${Key}` && Values.includes(Value)));
    return {
      ServiceConfigurations: [...world.endpointServices.values()]
        .filter(({ value }) => world.isVisible(value.ServiceId) && tagged(value.ServiceId))
        .map(({ value }) => ({ ...value, Tags: world.tagsOf(value.ServiceId) })),
    };
  },
  'ec2:DescribeVpcEndpointServicePermissions': (world, { ServiceId }) => {
    const { principals } = endpointService('ec2:DescribeVpcEndpointServicePermissions', world, ServiceId);
    return { AllowedPrincipals: [...principals].map((Principal) => ({ Principal })) };
  },
  'ec2:DescribeVpcEndpointConnections': (world, { ServiceId }) => ({
    VpcEndpointConnections: world.endpointServices.get(ServiceId)?.connections ?? [],
  }),
  'ec2:CreateVpcEndpointServiceConfiguration': (world, input) => {
    const operation = 'ec2:CreateVpcEndpointServiceConfiguration';
    checkServers(operation, world, input.NetworkLoadBalancerArns, input.SupportedIpAddressTypes);
    const ServiceId = world.id('vpce-svc-');
    const value: FakeEndpointService['value'] = {
      ServiceId,
      ServiceName: `com.amazonaws.vpce.${region}.${ServiceId}`,
      ServiceState: 'Available',
      AcceptanceRequired: input.AcceptanceRequired,
      NetworkLoadBalancerArns: input.NetworkLoadBalancerArns,
      SupportedIpAddressTypes: input.SupportedIpAddressTypes,
      Tags: [],
      ...(input.PrivateDnsName === undefined ? {} : dnsOf(input.PrivateDnsName)),
    };
    world.endpointServices.set(ServiceId, { value, principals: new Set(), connections: [] });
    world.recordCreated(
      ServiceId,
      input.TagSpecifications.flatMap(({ Tags }) => Tags),
    );
    return { ServiceConfiguration: { ServiceId } };
  },
  'ec2:ModifyVpcEndpointServiceConfiguration': (world, { ServiceId, ...changes }) => {
    const operation = 'ec2:ModifyVpcEndpointServiceConfiguration';
    const { value } = endpointService(operation, world, ServiceId);
    const edited = (all: readonly string[], add: readonly string[] = [], remove: readonly string[] = []): readonly string[] => {
      const isWrong = add.some((one) => all.includes(one)) || remove.some((one) => !all.includes(one));
      if (isWrong) refuse(operation, 'invalid', 'InvalidParameter');
      return [...all.filter((one) => !remove.includes(one)), ...add];
    };
    const servers = edited(value.NetworkLoadBalancerArns, changes.AddNetworkLoadBalancerArns, changes.RemoveNetworkLoadBalancerArns);
    if (servers.length === 0) refuse(operation, 'invalid', 'InvalidParameter', 'an endpoint service needs a load balancer');
    const types = edited(value.SupportedIpAddressTypes ?? [], changes.AddSupportedIpAddressTypes, changes.RemoveSupportedIpAddressTypes);
    if (types.length === 0) refuse(operation, 'invalid', 'InvalidParameter', 'an endpoint service needs an address type');
    checkServers(operation, world, servers, types, ServiceId);
    value.NetworkLoadBalancerArns = servers;
    value.SupportedIpAddressTypes = types;
    if (changes.AcceptanceRequired !== undefined) value.AcceptanceRequired = changes.AcceptanceRequired;
    if (changes.PrivateDnsName !== undefined) Object.assign(value, dnsOf(changes.PrivateDnsName));
    if (changes.RemovePrivateDnsName === true) {
      delete value.PrivateDnsName;
      delete value.PrivateDnsNameConfiguration;
    }
    return {};
  },
  'ec2:ModifyVpcEndpointServicePermissions': (world, { ServiceId, AddAllowedPrincipals = [], RemoveAllowedPrincipals = [] }) => {
    const { principals } = endpointService('ec2:ModifyVpcEndpointServicePermissions', world, ServiceId);
    for (const one of AddAllowedPrincipals) principals.add(one);
    for (const one of RemoveAllowedPrincipals) principals.delete(one);
    return {};
  },
  'ec2:DeleteVpcEndpointServiceConfigurations': (world, { ServiceIds: [id] }) => {
    const operation = 'ec2:DeleteVpcEndpointServiceConfigurations';
    const { connections } = endpointService(operation, world, id);
    const isConnected = connections.some(({ VpcEndpointState }) => ['available', 'pendingAcceptance'].includes(VpcEndpointState));
    if (isConnected) refuse(operation, 'inUse', 'ExistingVpcEndpointConnections', id);
    world.endpointServices.delete(id);
    return {};
  },
};
