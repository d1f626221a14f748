import { entry } from './entry.ts';

export interface OfKey {
  readonly key: string;
}

/** Why a Service has no load balancer in AWS, or not the one that it asks for; and what is odd about what it asks for. */
export const awsReasons = {
  AwsSeveral: entry({
    brief: 'Several things are wrong with what the Service asks of AWS',
    says: (d: { readonly problems: readonly string[] | string }) => [d.problems].flat().join('; '),
    fix: () => 'each sentence says what to change',
  }),
  AwsAnnotationInvalid: entry({
    brief: 'An annotation of the Service is not valid',
    says: (d: OfKey & { readonly problem: string }) => `annotation ${d.key} ${d.problem}`,
    fix: (d) => `correct or remove ${d.key}; docs/reference/aws-annotations.md has what it takes`,
  }),
  AwsAnnotationUnknown: entry({
    brief: 'An annotation of the Service is not known',
    says: (d: OfKey & { readonly meant: string }) =>
      `annotation ${d.key} is not known${d.meant === '' ? '' : `; did you mean ${d.meant}?`}`,
    fix: (d) => (d.meant === '' ? `remove ${d.key}` : `write ${d.meant}, or remove it`),
  }),
  AwsAnnotationMisspelt: entry({
    brief: 'The name of an annotation ends with "="',
    says: (d: OfKey & { readonly right: string }) => `annotation "${d.key}" has no effect: the "=" does not belong to its name`,
    fix: (d) => `write ${d.right}`,
  }),
  AwsAnnotationWithoutEffect: entry({
    brief: 'An annotation does nothing on this kind of load balancer',
    says: (d: OfKey & { readonly kind: string }) => `annotation ${d.key} does nothing on ${d.kind === 'nlb' ? 'an NLB' : 'a Classic ELB'}`,
    fix: (d) => `remove ${d.key}`,
  }),
  AwsAnnotationUnsupported: entry({
    brief: 'An annotation is not supported',
    says: (d: OfKey & { readonly why: string }) => `annotation ${d.key} is not supported: ${d.why}`,
    fix: (d) => `remove ${d.key}`,
  }),
  AwsSslPortUnknown: entry({
    brief: 'An annotation names a port that the Service does not have',
    says: (d: OfKey & { readonly port: string }) =>
      `annotation ${d.key} names "${d.port}", which is no port of the Service that it can be for`,
    fix: () => 'write names or numbers of TCP ports of the Service, or "*"',
  }),
  AwsBackendHttpsOnNlb: entry({
    brief: 'An NLB cannot proxy HTTPS',
    says: () => 'backend-protocol is https, but an NLB works at layer 4; elsewhere this would mean plain text to the pods',
    fix: () =>
      'write ssl for TLS to the pods, tcp for plain text to them, or use a Classic ELB (loadBalancerClass: herald.dev/aws-classic)',
  }),
  AwsBackendHttpOnNlb: entry({
    brief: 'An NLB does not add X-Forwarded-For',
    says: () => 'backend-protocol is http, but an NLB works at layer 4: requests get no X-Forwarded-For header',
    fix: () => 'use aws-load-balancer-proxy-protocol or client IP preservation; or remove the annotation',
  }),
  AwsProtocolUnsupported: entry({
    brief: 'The load balancer does not carry this protocol',
    says: (d: { readonly port: number; readonly protocol: string; readonly kind: string }) =>
      `port ${d.port} is ${d.protocol}, which ${d.kind === 'nlb' ? 'an NLB' : 'a Classic ELB'} does not carry`,
    fix: (d) => (d.kind === 'nlb' ? 'use TCP or UDP' : 'use TCP, or an NLB (loadBalancerClass: herald.dev/aws)'),
  }),
  AwsPortsCollide: entry({
    brief: 'Two ports cannot share a listener',
    says: (d: { readonly port: number; readonly why: string }) => `two ports of number ${d.port} cannot be one listener: ${d.why}`,
    fix: () => 'give them the same targetPort and no certificate, or different numbers',
  }),
  AwsNodePortMissing: entry({
    brief: 'A port has no NodePort',
    says: (d: { readonly port: number }) => `port ${d.port} has no NodePort, by which instances would be reached`,
    fix: () => 'set spec.allocateLoadBalancerNodePorts: true, or aws-load-balancer-nlb-target-type: ip',
  }),
  AwsNoSubnets: entry({
    brief: 'No subnet was found for the load balancer',
    says: (d: { readonly scheme: string; readonly tag: string }) => `no subnet for an ${d.scheme} load balancer was found in the VPC`,
    fix: (d) => `tag one subnet in each zone with ${d.tag}, or name them in aws-load-balancer-subnets`,
  }),
  AwsSubnetUnusable: entry({
    brief: 'A subnet cannot be used',
    says: (d: { readonly subnet: string; readonly why: string }) => `subnet ${d.subnet} ${d.why}`,
    fix: () => 'name other subnets in aws-load-balancer-subnets',
  }),
  AwsAddressesDoNotFit: entry({
    brief: 'The addresses that are asked for do not fit the subnets',
    says: (d: OfKey & { readonly why: string }) => `annotation ${d.key}: ${d.why}`,
    fix: () => 'name one address for each subnet',
  }),
  AwsSettingsConflict: entry({
    brief: 'Two things that the Service asks for exclude each other',
    says: (d: { readonly what: string }) => d.what,
    fix: () => 'keep one of them',
  }),
  AwsSecurityGroupNotFound: entry({
    brief: 'A security group does not exist',
    says: (d: { readonly group: string }) => `security group "${d.group}" was not found in the VPC, or several have that name`,
    fix: () => 'write the id of a security group (sg-...), or a Name tag that one has',
  }),
  AwsCertificateNotFound: entry({
    brief: 'No certificate was found for a host name',
    says: (d: { readonly host: string }) => `ACM has no issued certificate for ${d.host}`,
    fix: (d) => `request or import a certificate for ${d.host} in the region, or name its ARN in aws-load-balancer-ssl-cert`,
  }),
  AwsCertificateDiscoveryOff: entry({
    brief: 'Certificates are not looked for',
    says: () => 'herald.dev/aws-certificate-hosts is set, but certificate discovery is switched off',
    fix: () => 'start the controller with --aws-certificate-discovery, or name ARNs in aws-load-balancer-ssl-cert',
  }),
  AwsTooMany: entry({
    brief: 'A quota of AWS would be exceeded',
    says: (d: { readonly what: string; readonly wanted: number; readonly quota: number }) =>
      `the load balancer would have ${d.wanted} ${d.what}; AWS allows ${d.quota}`,
    fix: () => 'divide the ports among several Services, or ask for less',
  }),
  AwsSharedPortTaken: entry({
    brief: 'Another Service has this port of the shared load balancer',
    says: (d: { readonly port: number; readonly other: string }) =>
      `port ${d.port} of the shared load balancer belongs to Service ${d.other}, which is older`,
    fix: () => 'use another port',
  }),
  AwsSharedElsewhere: entry({
    brief: 'The shared load balancer is of another kind',
    says: (d: { readonly other: string; readonly what: string }) =>
      `Service ${d.other} shares the load balancer and decides about it: ${d.what}`,
    fix: () => 'ask for the same, or for a load balancer of its own',
  }),
  AwsForeignLoadBalancer: entry({
    brief: 'The load balancer belongs to somebody else',
    says: (d: { readonly name: string; readonly why: string }) => `load balancer ${d.name} is not ours: ${d.why}`,
    fix: () => 'choose another aws-load-balancer-name; or adopt it with herald.dev/aws-load-balancer, after its owner has let go of it',
  }),
  AwsOtherController: entry({
    brief: 'Another controller serves the Service',
    says: (d: { readonly finalizer: string }) =>
      `the Service has the finalizer ${d.finalizer} of another controller, whose load balancer it has`,
    fix: (d) => `let the other controller delete its load balancer, or remove the finalizer ${d.finalizer} after it has been stopped`,
  }),
  AwsAdoptedNotFound: entry({
    brief: 'The load balancer to be adopted does not exist',
    says: (d: { readonly name: string }) => `there is no NLB ${d.name} in the VPC`,
    fix: () => 'write the name or ARN of an existing NLB of the same VPC',
  }),
  AwsListenerForeign: entry({
    brief: 'A listener that is not ours has the port',
    says: (d: { readonly port: number }) => `the load balancer already has a listener on port ${d.port} that Herald did not make`,
    fix: () => 'delete that listener, or use another port',
  }),
  AwsDeletionProtected: entry({
    brief: 'The load balancer is protected against deletion',
    says: (d: { readonly name: string }) => `load balancer ${d.name} has deletion protection, which Herald respects`,
    fix: () => 'set deletion_protection.enabled=false, in aws-load-balancer-attributes or in AWS; it is then deleted',
  }),
  AwsProvisioning: entry({
    brief: 'AWS is making the load balancer',
    says: (d: { readonly waitsFor: string }) => `waiting for ${d.waitsFor}`,
    fix: () => '',
  }),
  AwsLoadBalancerFailed: entry({
    brief: 'AWS could not make the load balancer',
    says: (d: { readonly name: string; readonly why: string }) => `load balancer ${d.name} is in state failed: ${d.why}`,
    fix: () => 'see the console of AWS; deleting it makes Herald try again',
  }),
  AwsCallFailed: entry({
    brief: 'A call to AWS failed',
    says: (d: { readonly operation: string; readonly awsCode: string; readonly message: string; readonly requestId: string }) =>
      `${d.operation} failed: ${d.awsCode === '' ? 'no answer' : d.awsCode}: ${d.message}${d.requestId === '' ? '' : ` (request ${d.requestId})`}`,
    fix: () => 'Herald tries again; where it is denied, compare the IAM policy with docs/reference/aws.md',
  }),
  AwsNodesUnreachable: entry({
    brief: 'The security group of some nodes is not known',
    says: (d: { readonly instance: string; readonly groups: number | string }) =>
      `instance ${d.instance} has ${d.groups} security groups and not exactly one tagged kubernetes.io/cluster/NAME, so none was opened for the load balancer`,
    fix: () => 'tag the one security group of the nodes that Herald shall open',
  }),
  AwsNoTargets: entry({
    brief: 'The load balancer has no targets',
    says: (d: { readonly of: string }) => `no ${d.of} can be registered`,
    fix: () => 'see whether nodes are instances of AWS (spec.providerID), or whether pods are ready',
  }),
  AwsHealthCheckOnUdp: entry({
    brief: 'The health check asks a UDP port by TCP',
    says: (d: { readonly port: number }) => `port ${d.port} is UDP, and its health check asks the same port by TCP`,
    fix: () => 'set aws-load-balancer-healthcheck-port to a TCP port that answers, or let the pods answer TCP there as well',
  }),
  AwsProxyProtocolLocal: entry({
    brief: 'Health checks would carry the PROXY protocol',
    says: () => 'with externalTrafficPolicy Local the nodes are checked by HTTP, and the PROXY protocol precedes those requests as well',
    fix: () => 'use client IP preservation, which instances have anyway, or targets of type ip',
  }),
  AwsFieldWithoutEffect: entry({
    brief: 'A field of the Service does nothing on AWS',
    says: (d: { readonly field: string; readonly instead: string }) => `${d.field} does nothing on AWS`,
    fix: (d) => d.instead,
  }),
  AwsSecurityGroupsFixed: entry({
    brief: 'An NLB without security groups can never have any',
    says: () => 'the NLB was made without security groups, and AWS attaches none later; source ranges are not enforced by it',
    fix: () => 'create the Service anew for an NLB with security groups',
  }),
};
