import { classify } from '../../../sdk/classify.ts';
import type { AwsError } from '../../../cloud/error.ts';
import type { WriteOperation } from '../../../cloud/operations.ts';

/** One answer by which AWS refuses a call. */
export interface Refusal {
  readonly operation: WriteOperation;
  /** AWS' code, as on the wire. */
  readonly awsCode: string;
  /** When AWS gives the answer. */
  readonly condition: string;
  readonly message: string;
  /** The page of AWS' documentation that has the code. */
  readonly source: string;
}

type Prefix = 'elbv2' | 'elb' | 'ec2';
type Condition = readonly [condition: string, message: string];

const noLoadBalancer: Condition = ['the load balancer does not exist', 'One or more load balancers not found'];
const noTargetGroup: Condition = ['the target group does not exist', 'One or more target groups not found'];
const noListener: Condition = ['the listener does not exist', 'One or more listeners not found'];
const notPermitted: Condition = ['the operation is not allowed now', 'This operation is not allowed'];

/** The conditions by API and code. A code of one API has one meaning in all its calls. */
const conditions: Readonly<Record<Prefix, Readonly<Record<string, Condition>>>> = {
  elbv2: {
    ALPNPolicyNotFound: ['AWS does not support the ALPN policy', 'The ALPN policy is not supported'],
    AllocationIdNotFound: [
      'an Elastic IP is not in the account, or of another border group',
      'The allocation IDs are not available for use',
    ],
    AvailabilityZoneNotSupported: ['AWS has no load balancers in the zone', 'The Availability Zone is not supported'],
    CapacityDecreaseRequestsLimitExceeded: ['capacity was decreased too often today', 'You have reached the limit of daily decreases'],
    CapacityReservationPending: ['AWS still works on a reservation', 'A capacity reservation is pending'],
    CapacityUnitsLimitExceeded: ['the account reserves too many units', 'You have exceeded the limit of capacity units'],
    CertificateNotFound: ['the certificate does not exist', 'Certificate not found'],
    DuplicateListener: ['the port has a listener with other settings', 'A listener already exists on this port for this load balancer'],
    DuplicateLoadBalancerName: ['the name has a load balancer with other settings', 'A load balancer with the same name exists'],
    DuplicateTagKeys: ['a tag key occurs twice', 'Duplicate tag keys'],
    DuplicateTargetGroupName: ['the name has a target group with other settings', 'A target group with the same name exists'],
    IncompatibleProtocols: ['the protocol does not fit the target group or the load balancer', 'The protocols are not compatible'],
    InsufficientCapacity: ['AWS has not enough capacity', 'There is insufficient capacity to reserve'],
    InvalidConfigurationRequest: ['the settings are not valid together', 'The requested configuration is not valid'],
    InvalidLoadBalancerAction: ['the action of a listener is not valid', 'The action is not valid'],
    InvalidScheme: ['the scheme is not valid', 'The scheme is not valid'],
    InvalidSecurityGroup: ['a security group does not exist', 'One or more security groups are invalid'],
    InvalidSubnet: ['a subnet has no free address, or cannot be used', 'Not enough IP space available in the subnet'],
    InvalidTarget: [
      'a target does not exist, is of another VPC, or of an unsupported type',
      'The following targets are not in a running state or not supported',
    ],
    ListenerNotFound: noListener,
    LoadBalancerNotFound: noLoadBalancer,
    OperationNotPermitted: notPermitted,
    PriorRequestNotComplete: ['AWS still works on an earlier request', 'A prior request is not complete'],
    ResourceInUse: ['another resource uses it', 'It is currently in use'],
    SSLPolicyNotFound: ['the TLS policy does not exist', 'SSL policy not found'],
    SubnetNotFound: ['a subnet does not exist', 'The subnet ID does not exist'],
    TargetGroupAssociationLimit: [
      'a target group serves as many load balancers as it can',
      'The target group cannot be associated with more load balancers',
    ],
    TargetGroupNotFound: noTargetGroup,
    TooManyActions: ['a listener has too many actions', 'You have reached the maximum number of actions'],
    TooManyCertificates: ['quota of certificates', 'You have reached the maximum number of certificates'],
    TooManyListeners: ['quota of listeners', 'You have reached the maximum number of listeners'],
    TooManyLoadBalancers: ['quota of load balancers', 'You have reached the maximum number of load balancers'],
    TooManyRegistrationsForTargetId: [
      'a target is registered too often',
      'You have reached the maximum number of registrations of a target',
    ],
    TooManyTags: ['quota of tags', 'You have reached the maximum number of tags'],
    TooManyTargetGroups: ['quota of target groups', 'You have reached the maximum number of target groups'],
    TooManyTargets: ['quota of targets', 'You have reached the maximum number of targets'],
    TooManyUniqueTargetGroupsPerLoadBalancer: [
      'quota of target groups of a load balancer',
      'You have reached the maximum of unique target groups',
    ],
    UnsupportedProtocol: ['AWS does not support the protocol', 'The protocol is not supported'],
    ValidationError: ['a value is not of the form that AWS wants', 'A value is not valid'],
    AccessDenied: ['the IAM policy of the controller does not allow the call', 'User is not authorized to perform the action'],
  },
  elb: {
    CertificateNotFound: ['the certificate does not exist', 'Server Certificate not found for the key'],
    DuplicateListener: ['the port has a listener with other settings', 'A listener exists with this port and other settings'],
    DuplicateLoadBalancerName: ['the name has a load balancer with other settings', 'A load balancer exists with this name'],
    DuplicatePolicyName: ['the name has a policy with other settings', 'A policy exists with this name'],
    DuplicateTagKeys: ['a tag key occurs twice', 'Duplicate tag keys'],
    InvalidConfigurationRequest: ['the settings are not valid together', 'The configuration is not valid'],
    InvalidInstance: ['an instance does not exist, or cannot be registered', 'Could not find EC2 instance'],
    InvalidScheme: ['the scheme is not valid', 'The scheme is not valid'],
    InvalidSecurityGroup: ['a security group does not exist', 'One or more security groups do not exist'],
    InvalidSubnet: ['the VPC has no internet gateway', 'The VPC has no internet gateway'],
    ListenerNotFound: noListener,
    LoadBalancerAttributeNotFound: ['the attribute does not exist', 'The attribute does not exist'],
    LoadBalancerNotFound: ['the load balancer does not exist', 'There is no ACTIVE Load Balancer of this name'],
    OperationNotPermitted: notPermitted,
    PolicyNotFound: ['the policy does not exist', 'There is no policy of this name'],
    PolicyTypeNotFound: ['the type of policy does not exist', 'The policy type does not exist'],
    SubnetNotFound: ['a subnet does not exist', 'The subnet does not exist'],
    TooManyLoadBalancers: ['quota of load balancers', 'The quota of load balancers has been reached'],
    TooManyPolicies: ['quota of policies', 'The quota of policies has been reached'],
    TooManyTags: ['quota of tags', 'The quota of tags has been reached'],
    UnsupportedProtocol: ['AWS does not support the protocol', 'The protocol is not supported'],
    ValidationError: ['a value is not of the form that AWS wants', 'A value is not valid'],
    AccessDenied: ['the IAM policy of the controller does not allow the call', 'User is not authorized to perform the action'],
  },
  ec2: {
    DependencyViolation: ['another resource uses it', 'The resource has a dependent object'],
    ExistingVpcEndpointConnections: ['clients have endpoints of the service', 'There are existing endpoint connections'],
    'InvalidGroup.Duplicate': ['the name has a security group', 'The security group already exists'],
    'InvalidGroup.NotFound': ['the security group does not exist', 'The security group does not exist'],
    InvalidParameter: ['a value does not fit the resource', 'A parameter is not valid'],
    InvalidParameterValue: ['a value is not of the form that AWS wants', 'The value of a parameter is not valid'],
    'InvalidPermission.Duplicate': ['the rule exists', 'The specified rule already exists'],
    'InvalidPermission.NotFound': ['the rule does not exist', 'The specified rule does not exist in this security group'],
    'InvalidVpcID.NotFound': ['the VPC does not exist', 'The vpc ID does not exist'],
    'InvalidVpcEndpointServiceId.NotFound': ['the endpoint service does not exist', 'The Vpc Endpoint Service Id does not exist'],
    RulesPerSecurityGroupLimitExceeded: ['quota of rules', 'The maximum number of rules per security group has been reached'],
    SecurityGroupLimitExceeded: ['quota of security groups', 'The maximum number of security groups has been reached'],
    TagLimitExceeded: ['quota of tags', 'The maximum number of tags has been reached'],
    UnauthorizedOperation: ['the IAM policy of the controller does not allow the call', 'You are not authorized to perform this operation'],
  },
};

const existing = ['LoadBalancerNotFound'];
const ofListener = [
  'ALPNPolicyNotFound',
  'CertificateNotFound',
  'DuplicateListener',
  'IncompatibleProtocols',
  'InvalidConfigurationRequest',
  'InvalidLoadBalancerAction',
  'SSLPolicyNotFound',
  'TargetGroupAssociationLimit',
  'TargetGroupNotFound',
  'TooManyActions',
  'TooManyCertificates',
  'TooManyListeners',
  'TooManyRegistrationsForTargetId',
  'TooManyTargets',
  'TooManyUniqueTargetGroupsPerLoadBalancer',
  'UnsupportedProtocol',
];
const ofTags = ['ListenerNotFound', 'LoadBalancerNotFound', 'TargetGroupNotFound', 'TooManyTags'];
const ofPolicies = [...existing, 'InvalidConfigurationRequest', 'PolicyNotFound'];

/**
 * The codes by call. Those of Elastic Load Balancing are the ones that the documentation of its SDK lists for the call, without codes that
 * concern trust stores and rules, which Herald does not use.
 */
export const codes = {
  'elbv2:AddListenerCertificates': ['CertificateNotFound', 'ListenerNotFound', 'TooManyCertificates'],
  'elbv2:AddTags': ['DuplicateTagKeys', ...ofTags],
  'elbv2:CreateListener': [...ofListener, ...existing, 'TooManyTags'],
  'elbv2:CreateLoadBalancer': [
    'AllocationIdNotFound',
    'AvailabilityZoneNotSupported',
    'DuplicateLoadBalancerName',
    'DuplicateTagKeys',
    'InvalidConfigurationRequest',
    'InvalidScheme',
    'InvalidSecurityGroup',
    'InvalidSubnet',
    'OperationNotPermitted',
    'ResourceInUse',
    'SubnetNotFound',
    'TooManyLoadBalancers',
    'TooManyTags',
  ],
  'elbv2:CreateTargetGroup': ['DuplicateTargetGroupName', 'InvalidConfigurationRequest', 'TooManyTags', 'TooManyTargetGroups'],
  'elbv2:DeleteListener': ['ListenerNotFound', 'ResourceInUse'],
  'elbv2:DeleteLoadBalancer': [...existing, 'OperationNotPermitted', 'ResourceInUse'],
  'elbv2:DeleteTargetGroup': ['ResourceInUse'],
  'elbv2:DeregisterTargets': ['InvalidTarget', 'TargetGroupNotFound'],
  'elbv2:ModifyCapacityReservation': [
    'CapacityDecreaseRequestsLimitExceeded',
    'CapacityReservationPending',
    'CapacityUnitsLimitExceeded',
    'InsufficientCapacity',
    'InvalidConfigurationRequest',
    ...existing,
    'OperationNotPermitted',
    'PriorRequestNotComplete',
  ],
  'elbv2:ModifyListener': [...ofListener, 'ListenerNotFound'],
  'elbv2:ModifyListenerAttributes': ['InvalidConfigurationRequest', 'ListenerNotFound'],
  'elbv2:ModifyLoadBalancerAttributes': ['InvalidConfigurationRequest', ...existing],
  'elbv2:ModifyTargetGroup': ['InvalidConfigurationRequest', 'TargetGroupNotFound'],
  'elbv2:ModifyTargetGroupAttributes': ['InvalidConfigurationRequest', 'TargetGroupNotFound'],
  'elbv2:RegisterTargets': ['InvalidTarget', 'TargetGroupNotFound', 'TooManyRegistrationsForTargetId', 'TooManyTargets'],
  'elbv2:RemoveListenerCertificates': ['ListenerNotFound', 'OperationNotPermitted'],
  'elbv2:RemoveTags': ofTags,
  'elbv2:SetIpAddressType': ['InvalidConfigurationRequest', 'InvalidSubnet', ...existing],
  'elbv2:SetSecurityGroups': ['InvalidConfigurationRequest', 'InvalidSecurityGroup', ...existing],
  'elbv2:SetSubnets': [
    'AllocationIdNotFound',
    'AvailabilityZoneNotSupported',
    'CapacityReservationPending',
    'InvalidConfigurationRequest',
    'InvalidSubnet',
    ...existing,
    'SubnetNotFound',
  ],
  'elb:AddTags': ['DuplicateTagKeys', ...existing, 'TooManyTags'],
  'elb:ApplySecurityGroupsToLoadBalancer': ['InvalidConfigurationRequest', 'InvalidSecurityGroup', ...existing],
  'elb:AttachLoadBalancerToSubnets': ['InvalidConfigurationRequest', 'InvalidSubnet', ...existing, 'SubnetNotFound'],
  'elb:ConfigureHealthCheck': existing,
  'elb:CreateLoadBalancer': [
    'CertificateNotFound',
    'DuplicateLoadBalancerName',
    'DuplicateTagKeys',
    'InvalidConfigurationRequest',
    'InvalidScheme',
    'InvalidSecurityGroup',
    'InvalidSubnet',
    'OperationNotPermitted',
    'SubnetNotFound',
    'TooManyLoadBalancers',
    'TooManyTags',
    'UnsupportedProtocol',
  ],
  'elb:CreateLoadBalancerListeners': [
    'CertificateNotFound',
    'DuplicateListener',
    'InvalidConfigurationRequest',
    ...existing,
    'UnsupportedProtocol',
  ],
  'elb:CreateLoadBalancerPolicy': [
    'DuplicatePolicyName',
    'InvalidConfigurationRequest',
    ...existing,
    'PolicyTypeNotFound',
    'TooManyPolicies',
  ],
  'elb:DeleteLoadBalancer': [],
  'elb:DeleteLoadBalancerListeners': existing,
  'elb:DeregisterInstancesFromLoadBalancer': ['InvalidInstance', ...existing],
  'elb:DetachLoadBalancerFromSubnets': ['InvalidConfigurationRequest', ...existing],
  'elb:ModifyLoadBalancerAttributes': ['InvalidConfigurationRequest', 'LoadBalancerAttributeNotFound', ...existing],
  'elb:RegisterInstancesWithLoadBalancer': ['InvalidInstance', ...existing],
  'elb:RemoveTags': existing,
  'elb:SetLoadBalancerListenerSSLCertificate': [
    'CertificateNotFound',
    'InvalidConfigurationRequest',
    'ListenerNotFound',
    ...existing,
    'UnsupportedProtocol',
  ],
  'elb:SetLoadBalancerPoliciesForBackendServer': ofPolicies,
  'elb:SetLoadBalancerPoliciesOfListener': [...ofPolicies, 'ListenerNotFound'],
  'ec2:AuthorizeSecurityGroupIngress': [
    'InvalidGroup.NotFound',
    'InvalidParameterValue',
    'InvalidPermission.Duplicate',
    'RulesPerSecurityGroupLimitExceeded',
  ],
  'ec2:RevokeSecurityGroupIngress': ['InvalidGroup.NotFound', 'InvalidPermission.NotFound'],
  'ec2:CreateSecurityGroup': ['InvalidGroup.Duplicate', 'InvalidParameterValue', 'InvalidVpcID.NotFound', 'SecurityGroupLimitExceeded'],
  'ec2:DeleteSecurityGroup': ['DependencyViolation', 'InvalidGroup.NotFound'],
  'ec2:CreateTags': ['InvalidParameterValue', 'TagLimitExceeded'],
  'ec2:DeleteTags': ['InvalidParameterValue'],
  'ec2:CreateVpcEndpointServiceConfiguration': ['InvalidParameter'],
  'ec2:ModifyVpcEndpointServiceConfiguration': ['InvalidParameter', 'InvalidVpcEndpointServiceId.NotFound'],
  'ec2:ModifyVpcEndpointServicePermissions': ['InvalidParameter', 'InvalidVpcEndpointServiceId.NotFound'],
  'ec2:DeleteVpcEndpointServiceConfigurations': ['ExistingVpcEndpointConnections', 'InvalidVpcEndpointServiceId.NotFound'],
} satisfies Readonly<Record<WriteOperation, readonly string[]>>;

/** Codes that AWS documents as common to all calls of an API. */
const common: Readonly<Record<Prefix, readonly string[]>> = {
  elbv2: ['AccessDenied', 'ValidationError'],
  elb: ['AccessDenied', 'ValidationError'],
  ec2: ['UnauthorizedOperation'],
};

const pages: Readonly<Record<Prefix, string>> = {
  elbv2: 'https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/',
  elb: 'https://docs.aws.amazon.com/elasticloadbalancing/2012-06-01/APIReference/',
  ec2: 'https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html',
};

/** Every refusal by which AWS may answer a write of Herald. */
export const refusals: readonly Refusal[] = (Object.entries(codes) as [WriteOperation, readonly string[]][]).flatMap(([operation, own]) => {
  const [prefix, name] = operation.split(':') as [Prefix, string];
  const refusal = (awsCode: string, page: string): Refusal => {
    const [condition = '', message = ''] = conditions[prefix][awsCode] ?? [];
    return { operation, awsCode, condition, message, source: prefix === 'ec2' ? pages.ec2 : `${pages[prefix]}${page}.html` };
  };
  return [...own.map((code) => refusal(code, `API_${name}`)), ...common[prefix].map((code) => refusal(code, 'CommonErrors'))];
});

/** Returns the refusal as the edge to AWS reports it. */
export function refusalError({ operation, awsCode, message }: Refusal): AwsError {
  return classify(
    operation,
    Object.assign(new Error(message), { name: awsCode, $metadata: { httpStatusCode: 400, requestId: 'refused' } }),
  );
}
