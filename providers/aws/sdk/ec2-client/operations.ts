/** The operations of EC2 that Herald uses. `npm run generate` writes the part of the SDK's model that they need to model.json. */
export const operations = [
  'AuthorizeSecurityGroupIngress',
  'CreateSecurityGroup',
  'CreateTags',
  'CreateVpcEndpointServiceConfiguration',
  'DeleteSecurityGroup',
  'DeleteTags',
  'DeleteVpcEndpointServiceConfigurations',
  'DescribeAddresses',
  'DescribeInstances',
  'DescribeNetworkInterfaces',
  'DescribeRouteTables',
  'DescribeSecurityGroups',
  'DescribeSubnets',
  'DescribeVpcEndpointConnections',
  'DescribeVpcEndpointServiceConfigurations',
  'DescribeVpcEndpointServicePermissions',
  'DescribeVpcs',
  'ModifyVpcEndpointServiceConfiguration',
  'ModifyVpcEndpointServicePermissions',
  'RevokeSecurityGroupIngress',
] as const;

export type Ec2Operation = (typeof operations)[number];
