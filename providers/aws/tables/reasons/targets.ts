import { lastingMessage } from './message.ts';
import { lastingReason, reasonEntry, userMistake } from '../../../../src/model/reasons/entry.ts';

export interface RefusedTargets {
  /** The first ids. */
  readonly targets: string;
  /** How many more there are. */
  readonly others: number;
  readonly operation: string;
  readonly awsCode: string;
  readonly message: string;
  readonly kind: string;
}

export interface RefusedZone {
  readonly subnet: string;
  /** "" for none. */
  readonly addresses: string;
  readonly operation: string;
  readonly awsCode: string;
  readonly message: string;
}

const zoneOf = ({ subnet, addresses }: RefusedZone): string => `subnet ${subnet}${addresses === '' ? '' : ` with ${addresses}`}`;

const targetsOf = ({ targets, others }: RefusedTargets): string =>
  others === 0 ? `the targets ${targets}` : `the targets ${targets} and ${others} more`;

export interface NoTargets {
  /** "node" or "pod". */
  readonly of: string;
  /** No port has a target. */
  readonly all: boolean;
  /** Labels that no Node has, or that no Node has together, as "a=b,c". Absent: labels are not the cause. */
  readonly labels?: string;
  /** The annotation that asks for the labels. */
  readonly key?: string;
}

function whyNoTargets({ of, labels, key = '' }: NoTargets): string {
  return labels === undefined ? `no ${of} can be registered` : `no Node has ${labels} of annotation ${key}`;
}

function towardsTargets({ of, labels }: NoTargets): string {
  if (labels !== undefined) return `correct the annotation, or label Nodes: kubectl label node NAME ${labels.replaceAll(',', ' ')}`;
  return of === 'node'
    ? 'check that Nodes are AWS instances (spec.providerID) and may be targets'
    : 'check that the selector of the Service matches pods, and that they are ready';
}

const targetless = ({ all }: NoTargets): string => (all ? 'the load balancer' : 'a port of the load balancer');

/** Reasons why a load balancer sends to other targets than its Service has. */
export const awsTargetReasons = {
  AwsWeightsImpossible: userMistake({
    brief: 'A listener cannot divide its connections as an annotation asks',
    says: (d: { readonly key: string; readonly why: string }) => `annotation ${d.key}: ${d.why}`,
    fix: (d) => `correct or remove ${d.key}; docs/reference/aws.md has what it takes ("Weights")`,
  }),
  AwsQuicImpossible: userMistake({
    brief: 'AWS does not allow QUIC together with another setting',
    says: (d: { readonly key: string; readonly what: string }) => `annotation ${d.key}: ${d.what}`,
    fix: (d) => `change that setting, or remove ${d.key}`,
  }),
  AwsQuicTargetRefused: reasonEntry({
    brief: 'A Pod has no server id of its own for QUIC, so its QUIC port does not send to it',
    says: (d: { readonly port: number; readonly target: string; readonly others: number; readonly why: string }) =>
      `QUIC port ${d.port} does not send to ${d.target}${d.others === 0 ? '' : ` and ${d.others} more`}: ${d.why}`,
    fix: () =>
      'remove the annotation herald.dev/aws-quic-server-id of the Pod, so that its UID decides, or give each Pod another one (0x and 16 hexadecimal digits)',
  }),
  AwsTargetsRefused: reasonEntry({
    brief: 'AWS refuses targets of the load balancer',
    says: (d: RefusedTargets) => `AWS refuses ${targetsOf(d)}: ${d.awsCode}: ${d.message}`,
    lasting: (d) => `AWS refuses ${targetsOf(d)}: ${d.awsCode}: ${lastingMessage(d.message, d.operation, d.awsCode)}`,
    fix: (d) =>
      `${
        d.kind === 'quota'
          ? 'ask AWS for a higher quota of targets, or choose fewer nodes by aws-load-balancer-target-node-labels'
          : 'choose other nodes by aws-load-balancer-target-node-labels or the label node.kubernetes.io/exclude-from-external-load-balancers, or correct what AWS names'
      }; Herald tries them again at least every 10 minutes`,
  }),
  AwsZoneRefused: reasonEntry({
    brief: 'AWS refuses the subnet or the addresses of a zone',
    says: (d: RefusedZone) => `AWS refuses ${zoneOf(d)}: ${d.awsCode}: ${d.message}; the zone is as it was before, where AWS accepts that`,
    lasting: (d) =>
      `AWS refuses ${zoneOf(d)}: ${d.awsCode}: ${lastingMessage(d.message, d.operation, d.awsCode)}; the zone is as it was before, where AWS accepts that`,
    fix: (d) =>
      `name ${d.addresses === '' ? 'another subnet of the zone in aws-load-balancer-subnets' : 'other addresses in aws-load-balancer-eip-allocations, -private-ipv4-addresses or -ipv6-addresses'}; Herald tries it again when the Service changes, after an hour, and then ever less often, because the zone is out of service meanwhile`,
  }),
  AwsNoTargets: lastingReason({
    brief: 'The load balancer has no targets',
    says: (d: NoTargets) => `${targetless(d)} has no target: ${whyNoTargets(d)}`,
    fix: towardsTargets,
    unserved: ({ all }) => all,
  }),
  AwsLastTargets: lastingReason({
    brief: 'The load balancer loses its last targets',
    /** `until`: RFC 3339. */
    says: (d: NoTargets & { readonly until: string }) =>
      `${targetless(d)} loses its last targets at ${d.until}, because ${whyNoTargets(d)}`,
    fix: (d) => `${towardsTargets(d)}; or, if nobody shall be served, delete the Service`,
    endangered: true,
  }),
  AwsTargetsUnhealthy: lastingReason({
    brief: 'AWS finds no target behind a port healthy',
    /** `ports`: "80/TCP, 443/TLS". `all`: no other port has a healthy target. `why`: as AWS says. */
    says: (d: { readonly ports: string; readonly all: boolean; readonly why: string }) =>
      `AWS finds no healthy target behind port ${d.ports}: ${d.why}`,
    fix: (d) =>
      d.why.startsWith('unused')
        ? 'name subnets of the zones of the targets in aws-load-balancer-subnets'
        : 'let the targets answer the health check (aws-load-balancer-healthcheck-port, -protocol and -path), and let their security groups admit it',
    unserved: ({ all }) => all,
  }),
  AwsTargetsNotRecorded: userMistake({
    brief: 'The targets that Herald registers cannot be recorded, so nothing is registered',
    says: (d: { readonly key: string }) =>
      `annotation ${d.key}: Herald records its targets on the Service, and a directory of manifests cannot be written to`,
    fix: (d) => `let Herald serve the Service in its cluster, or remove ${d.key}`,
  }),
  AwsTargetGroupUnusable: userMistake({
    brief: 'A Service cannot register its targets in a target group of another owner',
    says: (d: { readonly key: string; readonly group: string; readonly why: string }) =>
      `annotation ${d.key}: target group ${d.group} ${d.why}`,
    fix: (d) =>
      `name a target group of the same VPC in ${d.key} that fits the port and the targets of the Service, and let its owner tag it herald.dev/multi-cluster: "true" and herald.dev/namespaces with the namespace of the Service (Herald does that with aws-load-balancer-multi-cluster-target-group and herald.dev/aws-target-group-namespaces); a Service that has a load balancer needs another Service for this`,
  }),
  AwsTargetsLeft: reasonEntry({
    brief: 'Targets stay in a target group of another owner, which Herald may not change',
    says: (d: { readonly group: string; readonly why: string; readonly targets: number }) =>
      `target group ${d.group} ${d.why}, so ${d.targets} targets that the Service has recorded stay in it`,
    fix: () =>
      'let the owner of the target group tag it herald.dev/multi-cluster: "true" and herald.dev/namespaces with the namespace of the Service, and a policy of HeraldConfig allow it where one selects the namespace, or let the owner deregister them; then remove the target group from the annotation herald.dev/aws-registered-targets of the Service',
  }),
  AwsAlbUnusable: userMistake({
    brief: 'A load balancer cannot be the target of a port',
    says: (d: { readonly key: string; readonly alb: string; readonly port: number; readonly why: string }) =>
      `annotation ${d.key}: load balancer ${d.alb} ${d.why}`,
    fix: (d) =>
      `name an Application Load Balancer of the same account and VPC that has a listener on port ${d.port} in ${d.key}, or add the listener`,
  }),
};
