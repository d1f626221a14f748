import { awsCallReasons } from './calls.ts';
import { awsOwnershipReasons } from './ownership.ts';
import { awsTargetReasons } from './targets.ts';
import { lastingReason, reasonEntry, userMistake } from '../../../../src/model/reasons/entry.ts';

export interface OfKey {
  readonly key: string;
}

export interface OfEndpointService {
  /** "vpce-svc-...". */
  readonly service: string;
  /** "com.amazonaws.vpce.REGION.vpce-svc-...". */
  readonly name: string;
}

export interface OfSources {
  /** The field or annotation that restricts the clients. */
  readonly setting: string;
  readonly because: string;
  /** What must be true without the setting, or the alternative. */
  readonly otherwise: string;
}

type Texts = readonly string[] | string;

const joined = (texts: Texts): string => [texts].flat().join('; ');

/** Reasons why a Service has no load balancer in AWS or a different one than requested, and warnings about its annotations. */
export const awsReasons = {
  ...awsOwnershipReasons,
  ...awsTargetReasons,
  ...awsCallReasons,
  AwsSeveral: reasonEntry({
    brief: 'Several things are wrong with what the Service asks of AWS',
    /** `lasting` has each problem without what changes while it stays. */
    says: (d: { readonly problems: Texts; readonly lasting: Texts; readonly fixes: Texts }) => joined(d.problems),
    lasting: (d) => joined(d.lasting),
    fix: (d) => joined(d.fixes),
  }),
  AwsAnnotationInvalid: userMistake({
    brief: 'An annotation of the Service is not valid',
    says: (d: OfKey & { readonly problem: string }) => `annotation ${d.key} ${d.problem}`,
    fix: (d) => `correct or remove ${d.key}; docs/reference/aws-annotations.md has what it takes`,
  }),
  AwsAttributeUnknown: userMistake({
    brief: 'An annotation names an attribute that AWS is not known to have',
    says: (d: OfKey & { readonly name: string; readonly nearest: string }) =>
      `annotation ${d.key} names attribute ${d.name}, which Herald does not know${d.nearest === '' ? ', and AWS may refuse' : `, so no load balancer is created with it; did you mean ${d.nearest}?`}`,
    fix: (d) =>
      d.nearest === ''
        ? `remove ${d.name} if AWS refuses it`
        : `write ${d.nearest}; if AWS has ${d.name}, add it when the load balancer exists`,
  }),
  AwsTlsPolicyUnknown: userMistake({
    brief: 'A security policy for TLS does not exist',
    /** `setting`: the annotation or option. `of`: "elbv2", or "elb" for a Classic ELB. */
    says: (d: { readonly setting: string; readonly policy: string; readonly of: string }) =>
      `${d.setting} names security policy ${d.policy}, which AWS does not have for ${d.of === 'elb' ? 'a Classic ELB' : 'an NLB'}`,
    fix: (d) =>
      `write a name that aws ${d.of === 'elb' ? 'elb describe-load-balancer-policies' : 'elbv2 describe-ssl-policies'} prints in ${d.setting}`,
  }),
  AwsAnnotationUnknown: reasonEntry({
    brief: 'An annotation of the Service is not known',
    says: (d: OfKey & { readonly meant: string }) =>
      `annotation ${d.key} is not known${d.meant === '' ? '' : `; did you mean ${d.meant}?`}`,
    fix: (d) => (d.meant === '' ? `remove ${d.key}` : `write ${d.meant}, or remove it`),
  }),
  AwsAnnotationMisspelt: reasonEntry({
    brief: 'The name of an annotation ends with "="',
    says: (d: OfKey & { readonly right: string }) => `annotation "${d.key}" has no effect: the "=" does not belong to its name`,
    fix: (d) => `write ${d.right}`,
  }),
  AwsAnnotationWithoutEffect: reasonEntry({
    brief: 'An annotation does nothing on this kind of load balancer',
    says: (d: OfKey & { readonly kind: string }) => `annotation ${d.key} does nothing on ${d.kind === 'nlb' ? 'an NLB' : 'a Classic ELB'}`,
    fix: (d) => `remove ${d.key}`,
  }),
  AwsAnnotationUnmatched: userMistake({
    brief: 'An annotation of the Service belongs to no port of it',
    says: (d: OfKey & { readonly problem: string }) => `annotation ${d.key} has no effect: it ${d.problem}`,
    fix: (d) => `correct or remove ${d.key}`,
  }),
  AwsAnnotationUnsupported: reasonEntry({
    brief: 'An annotation is not supported',
    says: (d: OfKey & { readonly why: string }) => `annotation ${d.key} is not supported: ${d.why}`,
    fix: (d) => `remove ${d.key}`,
  }),
  AwsSslPortUnknown: userMistake({
    brief: 'An annotation names a port that the Service does not have',
    says: (d: OfKey & { readonly port: string }) =>
      `annotation ${d.key} names "${d.port}", which is not a port of the Service that it can apply to`,
    fix: () => 'write names or numbers of TCP ports of the Service, or "*"',
  }),
  AwsBackendHttpsOnNlb: reasonEntry({
    brief: 'An NLB cannot proxy HTTPS',
    says: () => 'backend-protocol is https, but an NLB works at layer 4; elsewhere this would mean plain text to the pods',
    fix: () =>
      'write ssl for TLS to the pods, tcp for plain text to them, or use a Classic ELB (loadBalancerClass: herald.dev/aws-classic)',
  }),
  AwsBackendHttpOnNlb: reasonEntry({
    brief: 'An NLB does not add X-Forwarded-For',
    says: () => 'backend-protocol is http, but an NLB works at layer 4: requests get no X-Forwarded-For header',
    fix: () => 'use aws-load-balancer-proxy-protocol or client IP preservation; or remove the annotation',
  }),
  AwsProtocolUnsupported: userMistake({
    brief: 'The load balancer does not carry this protocol',
    says: (d: { readonly port: number; readonly protocol: string; readonly kind: string }) =>
      `port ${d.port} is ${d.protocol}, which ${d.kind === 'nlb' ? 'an NLB' : 'a Classic ELB'} does not carry`,
    fix: (d) => (d.kind === 'nlb' ? 'use TCP or UDP' : 'use TCP, or an NLB (loadBalancerClass: herald.dev/aws)'),
  }),
  AwsPortsCollide: userMistake({
    brief: 'Two ports cannot share a listener',
    says: (d: { readonly port: number; readonly why: string }) => `two ports of number ${d.port} cannot be one listener: ${d.why}`,
    fix: () =>
      'give them the same targetPort and no certificate (aws-load-balancer-ssl-ports names the ports that have one), or different numbers',
  }),
  AwsNodePortMissing: userMistake({
    brief: 'A port has no NodePort',
    says: (d: { readonly port: number }) => `port ${d.port} has no NodePort, through which the load balancer would reach instances`,
    fix: () => 'set spec.allocateLoadBalancerNodePorts: true, or aws-load-balancer-nlb-target-type: ip',
  }),
  AwsNoSubnets: reasonEntry({
    brief: 'No subnet was found for the load balancer',
    says: (d: { readonly scheme: string; readonly tag: string }) => `no subnet for an ${d.scheme} load balancer was found in the VPC`,
    fix: (d) => `tag one subnet in each zone with ${d.tag}, or name them in aws-load-balancer-subnets`,
  }),
  AwsSubnetUnusable: userMistake({
    brief: 'A subnet cannot be used',
    says: (d: { readonly subnet: string; readonly why: string }) => `subnet ${d.subnet} ${d.why}`,
    fix: () => 'name other subnets in aws-load-balancer-subnets',
  }),
  AwsAddressesDoNotFit: userMistake({
    brief: 'The requested addresses do not fit the subnets',
    says: (d: OfKey & { readonly why: string }) => `annotation ${d.key}: ${d.why}`,
    fix: () => 'name one address for each subnet',
  }),
  AwsAddressesFixed: reasonEntry({
    brief: 'AWS does not change the addresses of the load balancer in place',
    says: (d: { readonly subnet: string; readonly wanted: string; readonly present: string }) =>
      `in ${d.subnet} the load balancer shall have ${d.wanted}, and has ${d.present === '' ? 'an address of AWS' : d.present}; AWS changes an address only when the load balancer leaves the zone, and it has no other zone to serve from meanwhile`,
    fix: () => 'also name a subnet of another zone, at least until the change is done; or recreate the Service',
  }),
  AwsSettingsConflict: userMistake({
    brief: 'Two settings of the Service exclude each other',
    says: (d: { readonly what: string }) => d.what,
    fix: () => 'keep one of them',
  }),
  AwsNodesNotOpened: userMistake({
    brief: 'Nodes do not admit an NLB without security groups',
    says: () =>
      'aws-load-balancer-disable-nlb-sg is set: nodes admit load balancers by their security group, so traffic of an NLB without one would not reach them',
    fix: () =>
      'remove aws-load-balancer-disable-nlb-sg; or open the security groups of the nodes for clients and for health checks, which come from the subnets of the NLB, and set aws-load-balancer-manage-backend-security-group-rules: "false"',
  }),
  AwsSourcesNotEnforced: userMistake({
    brief: 'Nothing would enforce the source ranges of the Service',
    says: (d: OfSources) => `${d.setting} restricts the clients, but Herald could not enforce it: ${d.because}`,
    fix: (d) => `remove ${d.setting} if ${d.otherwise}`,
  }),
  AwsSecurityGroupNotFound: userMistake({
    brief: 'A security group does not exist',
    says: (d: { readonly group: string }) => `security group "${d.group}" was not found in the VPC, or several have that name`,
    fix: () => 'write the id of a security group (sg-...), or a Name tag that one has',
  }),
  AwsCertificateNotFound: userMistake({
    brief: 'No certificate was found for a host name',
    says: (d: { readonly host: string }) => `ACM has no issued certificate for ${d.host}`,
    fix: (d) => `request or import a certificate for ${d.host} in the region, or name its ARN in aws-load-balancer-ssl-cert`,
  }),
  AwsCertificateUnusable: userMistake({
    brief: 'A certificate cannot be used',
    says: (d: { readonly certificate: string; readonly region: string; readonly port: number; readonly why: 'region' | 'missing' }) =>
      `certificate ${d.certificate} of port ${d.port} ${d.why === 'region' ? `is not in region ${d.region}, where the load balancer is` : `does not exist in ACM of region ${d.region}`}`,
    fix: (d) => `import or request the certificate in ACM of region ${d.region}, and name its ARN in aws-load-balancer-ssl-cert`,
  }),
  AwsCertificateKey: reasonEntry({
    brief: 'A certificate has a key that an NLB may not support',
    says: (d: { readonly certificate: string; readonly algorithm: string }) =>
      `the key of ${d.certificate} is ${d.algorithm}; an NLB supports RSA up to 3072 bits, and ECDSA on P-256, P-384 and P-521`,
    fix: () => 'use a certificate with such a key, or end TLS in the pods',
  }),
  AwsCertificateKeyUnknown: reasonEntry({
    brief: 'It is not known whether an NLB supports the key of a certificate',
    says: (d: { readonly certificate: string; readonly why: string }) =>
      `it is not known whether an NLB supports the key of ${d.certificate}: ${d.why}`,
    fix: () => 'check the ARN and its region, and allow the controller acm:DescribeCertificate',
  }),
  AwsCertificateMissing: reasonEntry({
    brief: 'TLS is requested without a certificate',
    says: (d: { readonly keys: string }) => `without a certificate nothing is encrypted, in spite of ${d.keys}`,
    fix: () => 'name a certificate in aws-load-balancer-ssl-cert, or remove these annotations',
  }),
  AwsCertificateDiscoveryOff: reasonEntry({
    brief: 'Certificate discovery is switched off',
    says: () => 'herald.dev/aws-certificate-hosts is set, but certificate discovery is switched off',
    fix: () => 'start the controller with --aws-certificate-discovery, or name ARNs in aws-load-balancer-ssl-cert',
  }),
  AwsTooMany: reasonEntry({
    brief: 'The Service needs more than AWS ever allows',
    says: (d: { readonly what: string; readonly wanted: number; readonly quota: number }) =>
      `the load balancer would have ${d.wanted} ${d.what}; AWS allows ${d.quota}, and never raises this limit`,
    fix: () => 'divide the ports among several Services, or ask for less',
  }),
  AwsAboveQuota: reasonEntry({
    brief: 'The Service needs more than AWS allows by default',
    // Leaves out the actual number: it may change with every node and pod, and each new text would cause another Event.
    says: (d: { readonly what: string; readonly quota: number }) =>
      `the load balancer has more than ${d.quota} ${d.what}, which AWS allows only where the quota of the account was raised`,
    fix: () => 'where AWS refuses it, the condition says so: ask AWS for a higher quota, or divide the Service',
  }),
  AwsSharedPortTaken: userMistake({
    brief: 'Another Service has this port of the shared load balancer',
    says: (d: { readonly port: number; readonly other: string }) =>
      `port ${d.port} of the shared load balancer belongs to Service ${d.other}, which is older`,
    fix: () => 'use another port',
  }),
  AwsSharedElsewhere: userMistake({
    brief: 'The shared load balancer is of another kind',
    says: (d: { readonly other: string; readonly what: string }) =>
      `Service ${d.other} shares the load balancer and decides about it: ${d.what}`,
    fix: () => 'ask for the same, or for a load balancer of its own',
  }),
  AwsDeletionProtected: userMistake({
    brief: 'The load balancer is protected against deletion',
    says: (d: { readonly name: string }) => `load balancer ${d.name} has deletion protection, which Herald respects`,
    fix: () => 'set deletion_protection.enabled=false, in aws-load-balancer-attributes or in AWS; it is then deleted',
  }),
  AwsProvisioning: reasonEntry({
    brief: 'AWS is making the load balancer',
    says: (d: { readonly waitsFor: string }) => `waiting for ${d.waitsFor}`,
    fix: () => '',
  }),
  AwsWaitsLong: reasonEntry({
    brief: 'Herald has been waiting for a long time',
    says: (d: { readonly waitsFor: string }) => `waiting for ${d.waitsFor}, for more than 10 minutes`,
    fix: () =>
      'look at the health of the targets in AWS (unhealthy: the health check fails; unused: the load balancer does not serve their zone), and at Services that share the load balancer',
  }),
  AwsLoadBalancerFailed: reasonEntry({
    brief: 'AWS could not make the load balancer',
    says: (d: { readonly name: string; readonly why: string }) => `load balancer ${d.name} is in state failed: ${d.why}`,
    fix: () => 'see the AWS console; delete it there to make Herald try again',
  }),
  AwsCapacityFailed: reasonEntry({
    brief: 'AWS has not reserved the capacity of the load balancer',
    says: (d: { readonly name: string; readonly units: number; readonly zone: string; readonly why: string }) =>
      `AWS has not reserved ${d.units} capacity units for ${d.name} in ${d.zone}: ${d.why}`,
    fix: () => 'ask for fewer units in aws-load-balancer-minimum-load-balancer-capacity, or ask AWS for more capacity',
  }),
  AwsSwitchedOff: reasonEntry({
    unseen: () => true,
    brief: 'The controller runs without --aws-cluster-name, so no load balancer is created, changed or deleted for the Service',
    /** `finalizer` is the finalizer that an earlier controller left on the Service, "" for none. */
    says: (d: { readonly finalizer: string }) =>
      `the controller runs without --aws-cluster-name, so no load balancer is created, changed or deleted for the Service${
        d.finalizer === '' ? '' : `, which cannot be deleted as long as it has the finalizer ${d.finalizer}`
      }`,
    fix: (d) =>
      d.finalizer === ''
        ? 'start the controller with --aws-cluster-name, or recreate the Service with another loadBalancerClass'
        : `start the controller with the --aws-cluster-name that it had; or delete the load balancer in AWS yourself, and then remove the finalizer ${d.finalizer} from the Service`,
  }),
  AwsPlaceUnknown: reasonEntry({
    unseen: () => true,
    brief: 'The AWS region or VPC of the cluster is not known',
    says: (d: { readonly message: string }) => d.message,
    fix: () => 'set --aws-region (or AWS_REGION) and --aws-vpc-id, or make sure that Nodes have spec.providerID',
  }),
  AwsNodesUnreachable: reasonEntry({
    brief: 'The security group of some nodes is not known',
    says: (d: { readonly instance: string; readonly groups: number | string }) =>
      d.groups === 1
        ? `the security group of ${d.instance}, which is no known pod, is not tagged kubernetes.io/cluster/NAME, so it was not opened for the load balancer`
        : `instance ${d.instance} has ${d.groups} security groups and not exactly one tagged kubernetes.io/cluster/NAME, so none was opened for the load balancer`,
    fix: () => 'tag the security group that Herald should open',
  }),
  AwsTargetRefused: userMistake({
    brief: 'An endpoint must not be a target, because it is no pod',
    says: (d: { readonly slice: string; readonly address: string; readonly others: number; readonly why: string }) =>
      `${d.address} of EndpointSlice ${d.slice}${d.others === 0 ? '' : ` and ${d.others} more of its endpoints`} cannot be ${d.others === 0 ? 'a target' : 'targets'}: ${d.why}`,
    fix: (d) =>
      `let the Service select its pods, or write the Pod that has the address into targetRef; to allow the address to everybody who can write an EndpointSlice, add a prefix with ${d.address} to spec.aws.targetCIDRs of HeraldConfig/default`,
  }),
  AwsPodsUnreadable: reasonEntry({
    unseen: () => true,
    brief: 'The Pods behind the Service cannot be read, so its targets stay as they are',
    says: (d: { readonly message: string }) => d.message,
    fix: () =>
      'allow the controller to get Pods, as examples/aws/10-controller.yaml does; Herald retries at growing intervals of at most 2 minutes',
  }),
  AwsGateNotOpened: userMistake({
    brief: 'The readiness gate of a Pod cannot be opened',
    says: (d: { readonly pod: string; readonly gate: string; readonly why: string }) =>
      `Pod ${d.pod} is healthy behind the load balancer, but the condition of its readiness gate ${d.gate} cannot be written: ${d.why}`,
    fix: () => 'allow the controller to patch pods/status, as examples/aws/10-controller.yaml does',
  }),
  AwsHealthCheckOnUdp: reasonEntry({
    brief: 'The health check asks a UDP port by TCP',
    says: (d: { readonly port: number }) => `port ${d.port} is UDP, and its health check asks the same port by TCP`,
    fix: () => 'set aws-load-balancer-healthcheck-port to a TCP port that answers, or let the pods answer TCP there as well',
  }),
  AwsProxyProtocolLocal: reasonEntry({
    brief: 'Health checks would carry the PROXY protocol',
    says: () => 'with externalTrafficPolicy Local the nodes are checked by HTTP, and the PROXY protocol precedes those requests as well',
    fix: () => 'use client IP preservation, which instances have anyway, or targets of type ip',
  }),
  AwsFieldWithoutEffect: reasonEntry({
    brief: 'A field of the Service does nothing on AWS',
    says: (d: { readonly field: string; readonly instead: string }) => `${d.field} has no effect on the load balancer`,
    fix: (d) => d.instead,
  }),
  AwsEndpointServiceInUse: lastingReason({
    brief: 'Clients are connected to the endpoint service, so AWS does not delete it, nor its NLB',
    /** `endpoints`: with their accounts. `ids`: of the same endpoints. `others`: how many more there are. */
    says: (d: OfEndpointService & { readonly endpoints: string; readonly ids: string; readonly others: number }) =>
      `endpoint service ${d.name} cannot be deleted, because clients are connected to it${d.endpoints === '' ? '' : `: ${d.endpoints}`}${d.others === 0 ? '' : ` and ${d.others} more`}`,
    fix: (d) =>
      `let their owners delete the endpoints, or reject them: aws ec2 reject-vpc-endpoint-connections --service-id ${d.service} --vpc-endpoint-ids ${d.ids === '' ? 'ENDPOINT...' : d.ids}; Herald tries again at growing intervals of at most 10 minutes`,
  }),
  AwsEndpointServiceUnverified: lastingReason({
    brief: 'AWS has not verified the private DNS name of the endpoint service',
    says: (d: OfEndpointService & { readonly domain: string; readonly state: string; readonly record: string; readonly value: string }) =>
      `private DNS name ${d.domain} of endpoint service ${d.name} is not verified (${d.state}), so clients cannot use it`,
    fix: (d) =>
      `add a TXT record ${d.record === '' ? '' : `${d.record} `}with the value ${d.value} to the domain, then run aws ec2 start-vpc-endpoint-service-private-dns-verification --service-id ${d.service}`,
  }),
  AwsNameFixed: reasonEntry({
    brief: 'AWS does not rename a load balancer',
    says: (d: { readonly name: string; readonly wanted: string }) =>
      `the load balancer is called ${d.name}, and AWS cannot rename it: ${d.wanted} needs a new load balancer`,
    fix: () => 'recreate the Service, or remove aws-load-balancer-name',
  }),
  AwsSecurityGroupsFixed: reasonEntry({
    brief: 'An NLB without security groups can never have any',
    says: () => 'the NLB was made without security groups, and AWS attaches none later; it admits every client',
    fix: () => 'create the Service anew for an NLB with security groups',
  }),
};

declare module '../../../../src/model/reasons.ts' {
  interface ReasonTables {
    readonly aws: typeof awsReasons;
  }
}
