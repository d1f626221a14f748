import { defined } from '../../../../src/lang/defined.ts';

/** An IAM policy, in the form in which AWS takes it. */
export interface IamPolicy {
  readonly Version: '2012-10-17';
  readonly Statement: readonly IamStatement[];
}

export interface IamStatement {
  readonly Sid: string;
  readonly Effect: 'Allow';
  readonly Action: string | readonly string[];
  readonly Resource: '*';
  readonly Condition?: IamConditions;
}

/** By operator ("StringEquals", "Null") and key. All must hold; of several values one. */
export type IamConditions = Readonly<Record<string, Readonly<Record<string, string | readonly string[]>>>>;

/**
 * Returns the rights that the controller needs. With the name of a cluster (`--aws-cluster-name`) they reach the resources of this cluster
 * only, and of the security groups of nodes those tagged for it. Without a name they reach the resources of every Herald of the account,
 * and every security group.
 */
export function iamPolicy(cluster?: string): IamPolicy {
  const tagged = (where: 'RequestTag' | 'ResourceTag'): IamConditions => {
    const key = `aws:${where}/herald.dev/cluster`;
    return cluster === undefined ? { Null: { [key]: 'false' } } : { StringEquals: { [key]: cluster } };
  };
  const creating = (key: string, actions: string | readonly string[]): IamConditions => {
    const { StringEquals, ...others } = tagged('RequestTag');
    return { StringEquals: { [key]: actions, ...StringEquals }, ...others };
  };
  return {
    Version: '2012-10-17',
    Statement: [
      allow('Look', reads),
      allow('Certificates', ['acm:DescribeCertificate', 'acm:ListCertificates']),
      allow('FirstLoadBalancer', 'iam:CreateServiceLinkedRole', {
        StringEquals: { 'iam:AWSServiceName': 'elasticloadbalancing.amazonaws.com' },
      }),
      allow(
        'Create',
        ['ec2:CreateVpcEndpointServiceConfiguration', 'elasticloadbalancing:CreateLoadBalancer', 'elasticloadbalancing:CreateTargetGroup'],
        tagged('RequestTag'),
      ),
      allow(
        'TagCreated',
        'elasticloadbalancing:AddTags',
        creating('elasticloadbalancing:CreateAction', ['CreateListener', 'CreateLoadBalancer', 'CreateTargetGroup']),
      ),
      allow('ChangeOurs', changes, tagged('ResourceTag')),
      allow('Listeners', listeners),
      allow('TargetsOfSharedGroups', targets, { Null: { 'aws:ResourceTag/herald.dev/multi-cluster': 'false' } }),
      allow('CreateSecurityGroups', 'ec2:CreateSecurityGroup'),
      allow('TagNewSecurityGroups', 'ec2:CreateTags', creating('ec2:CreateAction', 'CreateSecurityGroup')),
      allow('ChangeOurSecurityGroups', ['ec2:CreateTags', 'ec2:DeleteSecurityGroup', 'ec2:DeleteTags'], tagged('ResourceTag')),
      allow('TagEndpointServices', 'ec2:CreateTags', creating('ec2:CreateAction', 'CreateVpcEndpointServiceConfiguration')),
      allow(
        'ChangeEndpointServices',
        [
          'ec2:CreateTags',
          'ec2:DeleteTags',
          'ec2:DeleteVpcEndpointServiceConfigurations',
          'ec2:ModifyVpcEndpointServiceConfiguration',
          'ec2:ModifyVpcEndpointServicePermissions',
        ],
        tagged('ResourceTag'),
      ),
      ...rulesOf(cluster),
    ],
  };
}

/** The statements of a policy are alternatives, so two kinds of security groups need two statements. */
function rulesOf(cluster: string | undefined): IamStatement[] {
  if (cluster === undefined) return [allow('RulesAlsoOfNodes', rules)];
  return [
    allow('RulesOfOurSecurityGroups', rules, { StringEquals: { 'aws:ResourceTag/herald.dev/cluster': cluster } }),
    allow('RulesOfNodesAndPods', rules, { Null: { [`aws:ResourceTag/kubernetes.io/cluster/${cluster}`]: 'false' } }),
  ];
}

function allow(Sid: string, Action: IamStatement['Action'], Condition?: IamConditions): IamStatement {
  return { Sid, Effect: 'Allow', Action, Resource: '*', ...defined({ Condition }) };
}

const reads = [
  'ec2:DescribeAccountAttributes',
  'ec2:DescribeAddresses',
  'ec2:DescribeInstances',
  'ec2:DescribeInternetGateways',
  'ec2:DescribeNetworkInterfaces',
  'ec2:DescribeRouteTables',
  'ec2:DescribeSecurityGroups',
  'ec2:DescribeSubnets',
  'ec2:DescribeVpcEndpointConnections',
  'ec2:DescribeVpcEndpointServiceConfigurations',
  'ec2:DescribeVpcEndpointServicePermissions',
  'ec2:DescribeVpcs',
  'elasticloadbalancing:DescribeCapacityReservation',
  'elasticloadbalancing:DescribeInstanceHealth',
  'elasticloadbalancing:DescribeListenerAttributes',
  'elasticloadbalancing:DescribeListenerCertificates',
  'elasticloadbalancing:DescribeListeners',
  'elasticloadbalancing:DescribeLoadBalancerAttributes',
  'elasticloadbalancing:DescribeLoadBalancerPolicies',
  'elasticloadbalancing:DescribeLoadBalancers',
  'elasticloadbalancing:DescribeSSLPolicies',
  'elasticloadbalancing:DescribeTags',
  'elasticloadbalancing:DescribeTargetGroupAttributes',
  'elasticloadbalancing:DescribeTargetGroups',
  'elasticloadbalancing:DescribeTargetHealth',
] as const;

const changes = [
  'elasticloadbalancing:AddTags',
  'elasticloadbalancing:ApplySecurityGroupsToLoadBalancer',
  'elasticloadbalancing:AttachLoadBalancerToSubnets',
  'elasticloadbalancing:ConfigureHealthCheck',
  'elasticloadbalancing:CreateLoadBalancerListeners',
  'elasticloadbalancing:CreateLoadBalancerPolicy',
  'elasticloadbalancing:DeleteLoadBalancer',
  'elasticloadbalancing:DeleteLoadBalancerListeners',
  'elasticloadbalancing:DeleteTargetGroup',
  'elasticloadbalancing:DeregisterInstancesFromLoadBalancer',
  'elasticloadbalancing:DeregisterTargets',
  'elasticloadbalancing:DetachLoadBalancerFromSubnets',
  'elasticloadbalancing:ModifyCapacityReservation',
  'elasticloadbalancing:ModifyLoadBalancerAttributes',
  'elasticloadbalancing:ModifyTargetGroup',
  'elasticloadbalancing:ModifyTargetGroupAttributes',
  'elasticloadbalancing:RegisterInstancesWithLoadBalancer',
  'elasticloadbalancing:RegisterTargets',
  'elasticloadbalancing:RemoveTags',
  'elasticloadbalancing:SetIpAddressType',
  'elasticloadbalancing:SetLoadBalancerListenerSSLCertificate',
  'elasticloadbalancing:SetLoadBalancerPoliciesForBackendServer',
  'elasticloadbalancing:SetLoadBalancerPoliciesOfListener',
  'elasticloadbalancing:SetSecurityGroups',
  'elasticloadbalancing:SetSubnets',
] as const;

const listeners = [
  'elasticloadbalancing:AddListenerCertificates',
  'elasticloadbalancing:CreateListener',
  'elasticloadbalancing:DeleteListener',
  'elasticloadbalancing:ModifyListener',
  'elasticloadbalancing:ModifyListenerAttributes',
  'elasticloadbalancing:RemoveListenerCertificates',
] as const;

const targets = ['elasticloadbalancing:DeregisterTargets', 'elasticloadbalancing:RegisterTargets'] as const;

const rules = ['ec2:AuthorizeSecurityGroupIngress', 'ec2:RevokeSecurityGroupIngress'] as const;
