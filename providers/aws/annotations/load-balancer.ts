import { both, classic, legacyPrefix, nlb, unsupported, type AnnotationEntry } from './entry.ts';
import { addresses, boolean, cidrs, integer, labels, list, map, text, texts, word, type ValueType } from './value-types.ts';
import { parsed, invalid } from '../../../src/net/parsed.ts';
import { isTaggable } from '../model/tags.ts';

/** CPA reads "" and "false" as internet-facing and every other text as internal. LBC reads a boolean. This type accepts both. */
const internalText: ValueType<boolean> = {
  name: 'boolean, or any text for internal',
  read: (text) => parsed(!['', 'false', 'False', 'FALSE', 'f', 'F', '0'].includes(text.trim())),
};

const trimmedText: ValueType<string> = { name: 'text', read: (text) => parsed(text.trim()) };

const name: ValueType<string> = {
  name: 'at most 32 letters, digits and "-"',
  read: (text) =>
    /^(?!internal-)[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,30}[a-zA-Z0-9])?$/.test(text)
      ? parsed(text)
      : invalid('is not at most 32 letters, digits and "-" that begin neither with "-" nor with "internal-"'),
};

const sourceNatPrefix = list('auto_assigned or IPv6 prefixes of length 80', (text) =>
  text === 'auto_assigned' || /^[0-9a-fA-F:]+\/80$/.test(text) ? parsed(text) : invalid('is neither auto_assigned nor a /80'),
);

const prefixLists = list('prefix list ids', (text) => (text.startsWith('pl-') ? parsed(text) : invalid('does not begin with "pl-"')));

/** AWS allows 50 tags on a resource. Herald needs some of them itself. */
const maximumTags = 30;

/**
 * Checks tags when the annotation is read, because AWS would refuse them only at each resource that Herald creates. A Service must not set
 * the tags by which Herald recognises its own resources.
 */
const resourceTags: typeof map = {
  name: map.name,
  read(text) {
    const result = map.read(text);
    if (!result.ok) return result;
    const entries = Object.entries(result.value);
    if (entries.length > maximumTags) return invalid(`has ${entries.length} tags, of which ${maximumTags} are allowed`);
    for (const [key, value] of entries) {
      if (key.startsWith('aws:') || key.startsWith('herald.dev/')) return invalid(`has ${key}, which is not for a Service to set`);
      if (!isTaggable(key, value)) return invalid(`has ${key}=${value}, which AWS does not take as a tag`);
    }
    return result;
  },
};

/** Annotations about the load balancer itself. */
export const loadBalancerAnnotations = {
  type: both('type', trimmedText, {
    default: '-',
    description:
      'Of Services without loadBalancerClass, and only where `--aws-classless` says so: `nlb`, `nlb-ip` and `external` make an NLB, anything else a Classic ELB.',
    lbc: 'differs',
    cpa: 'differs',
    difference:
      'selects only with `--aws-classless=legacy` or `classic`; a later change replaces the load balancer instead of being refused',
  }),
  targetType: nlb('nlb-target-type', word('instance', 'ip'), {
    default: '`--aws-default-target-type`, `instance`; `ip` with type `nlb-ip`',
    description: 'What is registered: nodes by their NodePort, or pods.',
    lbc: 'yes',
  }),
  name: both('name', name, {
    default: 'made of namespace, name and a hash',
    description: 'Name of the load balancer. Only when it is made: AWS cannot rename one.',
    lbc: 'yes',
  }),
  scheme: both('scheme', word('internal', 'internet-facing'), {
    default:
      'that of the existing load balancer, else `--aws-default-scheme`, `internal`; internet-facing for a Service without a class, unless its type is `external` or `nlb-ip`',
    description: 'From where it is reached. A change makes a second load balancer, and removes the first after that has taken over.',
    lbc: 'differs',
    difference: 'the new load balancer is there before the old one goes; where no class is set the default is that of CPA',
  }),
  internal: both('internal', internalText, {
    default: '-',
    description: 'The older form of `scheme`, which wins over it.',
    lbc: 'differs',
    cpa: 'differs',
    difference: 'read as CPA does for both kinds; a change is carried out',
  }),
  ipAddressType: nlb('ip-address-type', word('ipv4', 'dualstack'), {
    default: '`dualstack` where spec.ipFamilies begins with IPv6 or both are required, else `ipv4`',
    description: 'Addresses of the load balancer.',
    lbc: 'differs',
    difference: 'follows spec.ipFamilies where it is not set',
  }),
  subnets: both('subnets', texts('subnet ids or Name tags'), {
    default: 'found by tags; those of the existing load balancer stay',
    description: 'One subnet for each availability zone.',
    lbc: 'yes',
    cpa: 'differs',
    difference: 'changed on an existing NLB as well',
  }),
  eipAllocations: nlb('eip-allocations', texts('allocation ids'), {
    default: 'addresses of AWS',
    description: 'Elastic IPs, one for each subnet, in their order. Internet-facing only.',
    lbc: 'differs',
    cpa: 'differs',
    difference: 'others are taken on an existing NLB as well, zone by zone, where it has more than one',
  }),
  privateIPv4: nlb('private-ipv4-addresses', addresses(4), {
    default: 'addresses of AWS',
    description: 'One address in each subnet. Internal only.',
    lbc: 'differs',
    cpa: 'differs',
    difference: 'others are taken on an existing NLB as well, zone by zone, where it has more than one',
  }),
  ipv6Addresses: nlb('ipv6-addresses', addresses(6), {
    default: 'addresses of AWS',
    description: 'One address in each subnet. Dual stack only.',
    lbc: 'differs',
    difference: 'others are taken on an existing NLB as well, zone by zone, where it has more than one',
  }),
  ipv6SourceNat: nlb('enable-prefix-for-ipv6-source-nat', word('on', 'off'), {
    default: '`off`',
    description: 'Lets UDP listeners serve IPv6. Dual stack only.',
    lbc: 'yes',
  }),
  sourceNatPrefixes: nlb('source-nat-ipv6-prefixes', sourceNatPrefix, {
    default: 'assigned by AWS',
    description: 'One for each subnet; needs `enable-prefix-for-ipv6-source-nat: "on"`.',
    lbc: 'yes',
  }),
  attributes: nlb('attributes', map, {
    default: '-',
    description:
      'Attributes of the load balancer by the names of AWS. Only those that are listed are managed; one that is listed no more goes back to what it was.',
    lbc: 'differs',
    difference: 'LBC leaves the value of one that is listed no more',
  }),
  accessLog: both('access-log-enabled', boolean, {
    default: '`false`',
    description: 'Access logs to S3.',
    lbc: 'yes',
    cpa: 'yes',
  }),
  accessLogBucket: both('access-log-s3-bucket-name', text, { default: '-', description: 'Where access logs go.', lbc: 'yes', cpa: 'yes' }),
  accessLogPrefix: both('access-log-s3-bucket-prefix', text, {
    default: '-',
    description: 'Folder in the bucket.',
    lbc: 'yes',
    cpa: 'yes',
  }),
  accessLogInterval: classic('access-log-emit-interval', integer(5, 60), {
    default: '60',
    description: 'Minutes between two access logs: 5 or 60.',
    cpa: 'yes',
  }),
  crossZone: both('cross-zone-load-balancing-enabled', boolean, {
    default: 'NLB: not managed; Classic: `false`',
    description: 'Every address of the load balancer reaches the targets of all zones.',
    lbc: 'yes',
    cpa: 'yes',
  }),
  drainingEnabled: classic('connection-draining-enabled', boolean, {
    default: '`false`',
    description: 'Instances that leave finish their connections.',
    cpa: 'yes',
  }),
  drainingTimeout: classic('connection-draining-timeout', integer(1, 3600), {
    default: '300',
    description: 'Seconds after which they are cut.',
    cpa: 'yes',
  }),
  idleTimeout: classic('connection-idle-timeout', integer(1, 4000), {
    default: '60',
    description: 'Seconds without data after which a connection is closed.',
    cpa: 'yes',
  }),
  tags: both('additional-resource-tags', resourceTags, {
    default: '-',
    description:
      'At most 30 tags on everything that is made for the Service. One that is named no more goes; those that others have set stay.',
    lbc: 'differs',
    cpa: 'differs',
    difference: 'on everything; LBC removes tags of others as well, CPA removes none, and takes a key without `=`',
  }),
  securityGroups: both('security-groups', texts('security group ids or Name tags'), {
    default: 'one is made',
    description: 'Security groups of the load balancer instead of one that Herald manages.',
    lbc: 'yes',
    cpa: 'differs',
    difference: 'for NLBs as well, without a mode to be switched on',
  }),
  extraSecurityGroups: classic('extra-security-groups', texts('security group ids'), {
    default: '-',
    description: 'Security groups beside the managed one.',
    cpa: 'yes',
  }),
  manageBackendRules: nlb('manage-backend-security-group-rules', boolean, {
    default: '`false`',
    description: 'With `security-groups`: nodes let the load balancer in all the same, by the security group of the cluster.',
    lbc: 'yes',
  }),
  sourceRanges: {
    ...both('-', cidrs, {
      default: '`0.0.0.0/0`, and `::/0` with dual stack',
      description: 'Clients that may connect. spec.loadBalancerSourceRanges wins. Not with `security-groups`.',
      lbc: 'yes',
      cpa: 'differs' as const,
      difference: 'IPv6 as well',
    }),
    key: `${legacyPrefix}load-balancer-source-ranges`,
  },
  prefixLists: nlb('security-group-prefix-lists', prefixLists, {
    default: '-',
    description: 'Further clients, by prefix list. Without source ranges nobody else may connect.',
    lbc: 'yes',
  }),
  privateLinkRules: nlb('inbound-sg-rules-on-private-link-traffic', word('on', 'off'), {
    default: '`on`, which is AWS’',
    description: 'Whether the rules hold for clients that come by PrivateLink.',
    lbc: 'yes',
  }),
  pathMtuDiscovery: nlb('enable-icmp-for-path-mtu-discovery', word('on', 'off'), {
    default: '`off`',
    description: 'Admits "fragmentation needed" (ICMP 3/4, ICMPv6 2/0) from every source.',
    lbc: 'yes',
  }),
  disableSecurityGroups: nlb('disable-nlb-sg', boolean, {
    default: '`false`',
    description: 'The NLB is made without security groups, for good; nodes are then to be opened by hand.',
    lbc: 'differs',
    difference: 'rules of the nodes are the user’s in this mode',
  }),
  targetNodeLabels: both('target-node-labels', labels, {
    default: '-',
    description: 'Only nodes with these labels are registered. An empty value, or a key without `=`: the label must be there.',
    lbc: 'differs',
    cpa: 'yes',
    difference: 'LBC refuses a key without `=`, and takes an empty value for a label that is empty',
  }),
  multiCluster: unsupported('multi-cluster-target-group', boolean, {
    default: '-',
    description: 'Target groups that several clusters share.',
    lbc: 'no',
    difference: 'targets that are not ours would be removed; use one NLB a cluster behind DNS',
  }),
  capacity: unsupported('minimum-load-balancer-capacity', map, {
    default: '-',
    description: 'Reserved capacity.',
    lbc: 'no',
    difference: 'reserve it in AWS; Herald does not touch it',
  }),
} as const satisfies Record<string, AnnotationEntry<never> | AnnotationEntry<unknown>>;
