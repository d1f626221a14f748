import type * as Sdk from '@aws-sdk/client-ec2';
import { makeBuilder } from '@smithy/core/client';
import { getEndpointPlugin } from '@smithy/core/endpoints';
import { operationShape } from './model.ts';
import type { Ec2Operation } from './operations.ts';

const endpointParameters = {
  UseFIPS: { type: 'builtInParams', name: 'useFipsEndpoint' },
  Endpoint: { type: 'builtInParams', name: 'endpoint' },
  Region: { type: 'builtInParams', name: 'region' },
  UseDualStack: { type: 'builtInParams', name: 'useDualstackEndpoint' },
} as const;

const makeCommand = makeBuilder(endpointParameters, 'AmazonEC2', 'EC2Client', getEndpointPlugin);

/** Returns the command as the SDK's client of EC2 defines it, of which only the types are loaded. */
function command<Operation extends Ec2Operation>(operation: Operation): (typeof Sdk)[`${Operation}Command`] {
  const made: unknown = makeCommand({}, () => [], operation, operationShape(operation));
  return made as (typeof Sdk)[`${Operation}Command`];
}

export const AuthorizeSecurityGroupIngressCommand = command('AuthorizeSecurityGroupIngress');
export const CreateSecurityGroupCommand = command('CreateSecurityGroup');
export const CreateTagsCommand = command('CreateTags');
export const CreateVpcEndpointServiceConfigurationCommand = command('CreateVpcEndpointServiceConfiguration');
export const DeleteSecurityGroupCommand = command('DeleteSecurityGroup');
export const DeleteTagsCommand = command('DeleteTags');
export const DeleteVpcEndpointServiceConfigurationsCommand = command('DeleteVpcEndpointServiceConfigurations');
export const DescribeAddressesCommand = command('DescribeAddresses');
export const DescribeInstancesCommand = command('DescribeInstances');
export const DescribeNetworkInterfacesCommand = command('DescribeNetworkInterfaces');
export const DescribeRouteTablesCommand = command('DescribeRouteTables');
export const DescribeSecurityGroupsCommand = command('DescribeSecurityGroups');
export const DescribeSubnetsCommand = command('DescribeSubnets');
export const DescribeVpcEndpointConnectionsCommand = command('DescribeVpcEndpointConnections');
export const DescribeVpcEndpointServiceConfigurationsCommand = command('DescribeVpcEndpointServiceConfigurations');
export const DescribeVpcEndpointServicePermissionsCommand = command('DescribeVpcEndpointServicePermissions');
export const DescribeVpcsCommand = command('DescribeVpcs');
export const ModifyVpcEndpointServiceConfigurationCommand = command('ModifyVpcEndpointServiceConfiguration');
export const ModifyVpcEndpointServicePermissionsCommand = command('ModifyVpcEndpointServicePermissions');
export const RevokeSecurityGroupIngressCommand = command('RevokeSecurityGroupIngress');
