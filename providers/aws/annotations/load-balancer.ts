import { both, classic, legacyPrefix, nlb, type AnnotationEntry } from './entry.ts';
import { addresses, attributeMap, boolean, cidrs, integer, labels, list, map, text, texts, word, type ValueType } from './value-types.ts';
import { parsed, invalid, type Parsed } from '../../../src/net/parsed.ts';
import { parsePrefixLeniently, type Prefix } from '../../../src/net/prefix.ts';
import { isReservedKey, isTaggable } from '../model/tags.ts';

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
      : invalid('is not a name of at most 32 letters, digits and "-" that starts with neither "-" nor "internal-"'),
};

const sourceNatPrefix = list('auto_assigned or IPv6 prefixes of length 80', (text): Parsed<Prefix | 'auto_assigned'> => {
  if (text === 'auto_assigned') return parsed(text);
  const result = parsePrefixLeniently(text);
  const fits = result.ok && result.value.address.family === 6 && result.value.length === 80;
  return fits ? parsed(result.value) : invalid('is neither auto_assigned nor an IPv6 prefix of length 80');
});

const prefixLists = list('prefix list ids', (text) => (text.startsWith('pl-') ? parsed(text) : invalid('does not start with "pl-"')));

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
    if (entries.length > maximumTags) return invalid(`has ${entries.length} tags, but at most ${maximumTags} are allowed`);
    for (const [key, value] of entries) {
      if (isReservedKey(key)) return invalid(`has ${key}, which a Service must not set`);
      if (!isTaggable(key, value)) return invalid(`has ${key}=${value}, which AWS does not accept as a tag`);
    }
    return result;
  },
};

const capacityUnits: ValueType<number> = {
  name: '`CapacityUnits=NUMBER`',
  read(text) {
    const result = map.read(text);
    if (!result.ok) return result;
    const { CapacityUnits: units = '', ...others } = result.value;
    if (!/^[0-9]{1,9}$/.test(units) || Object.keys(others).length > 0) return invalid('is not CapacityUnits=NUMBER');
    return parsed(Number(units));
  },
};

/** Annotations about the load balancer itself. */
export const loadBalancerAnnotations = {
  type: both('type', trimmedText, {
    default: '-',
    description:
      'Only for Services without loadBalancerClass, and only as `--aws-classless` allows: `nlb`, `nlb-ip` and `external` select an NLB, anything else a Classic ELB.',
    lbc: 'differs',
    cpa: 'differs',
    difference:
      'has an effect only with `--aws-classless=legacy` or `classic`; a later change is not refused but replaces the load balancer',
  }),
  targetType: nlb('nlb-target-type', word('instance', 'ip'), {
    default: '`--aws-default-target-type`, `instance`; `ip` with type `nlb-ip`',
    description: 'The targets: nodes with their NodePort, or pods.',
    lbc: 'yes',
  }),
  name: both('name', name, {
    default: 'namespace, name and a hash',
    description: 'Name of a new load balancer. AWS cannot rename an existing one.',
    lbc: 'yes',
  }),
  scheme: both('scheme', word('internal', 'internet-facing'), {
    default:
      'the scheme of the existing load balancer, else `--aws-default-scheme`, `internal`; internet-facing for a Service without a class, unless its type is `external` or `nlb-ip`',
    description: 'Where clients come from. A change creates a second load balancer and deletes the first one after the second serves.',
    lbc: 'differs',
    difference: 'the new load balancer serves before the old one is deleted; without a class the default is that of CPA',
  }),
  internal: both('internal', internalText, {
    default: '-',
    description: 'The older form of `scheme`. `scheme` wins.',
    lbc: 'differs',
    cpa: 'differs',
    difference: 'read as CPA does, for both kinds; a change takes effect',
  }),
  ipAddressType: nlb('ip-address-type', word('ipv4', 'dualstack'), {
    default: '`dualstack` if spec.ipFamilies begins with IPv6 or both families are required, else `ipv4`',
    description: 'Address families of the load balancer.',
    lbc: 'differs',
    difference: 'if not set, it follows spec.ipFamilies',
  }),
  subnets: both('subnets', texts('subnet ids or Name tags'), {
    default: 'found by tags, once: an existing load balancer keeps what was found',
    description: 'One subnet for each availability zone.',
    lbc: 'yes',
    cpa: 'differs',
    difference: 'also changed on an existing NLB',
  }),
  eipAllocations: nlb('eip-allocations', texts('allocation ids'), {
    default: 'chosen by AWS',
    description: 'Elastic IPs, one for each subnet, in the same order. Internet-facing only.',
    lbc: 'differs',
    cpa: 'differs',
    difference: 'also changed on an existing NLB, zone by zone, if it has more than one zone',
  }),
  privateIPv4: nlb('private-ipv4-addresses', addresses(4), {
    default: 'chosen by AWS',
    description: 'One address in each subnet. Internal only.',
    lbc: 'differs',
    cpa: 'differs',
    difference: 'also changed on an existing NLB, zone by zone, if it has more than one zone',
  }),
  ipv6Addresses: nlb('ipv6-addresses', addresses(6), {
    default: 'chosen by AWS',
    description: 'One address in each subnet. Dual stack only.',
    lbc: 'differs',
    difference: 'also changed on an existing NLB, zone by zone, if it has more than one zone',
  }),
  ipv6SourceNat: nlb('enable-prefix-for-ipv6-source-nat', word('on', 'off'), {
    default: '`off`',
    description: 'Allows UDP listeners to serve IPv6. Dual stack only.',
    lbc: 'yes',
  }),
  sourceNatPrefixes: nlb('source-nat-ipv6-prefixes', sourceNatPrefix, {
    default: 'assigned by AWS',
    description: 'One for each subnet. Requires `enable-prefix-for-ipv6-source-nat: "on"`.',
    lbc: 'yes',
  }),
  attributes: nlb('attributes', attributeMap, {
    default: '-',
    description:
      'Attributes of the load balancer, by AWS’ names. Only listed attributes are managed. An attribute that is no longer listed returns to its previous value.',
    lbc: 'differs',
    difference: 'LBC keeps the value of an attribute that is no longer listed',
  }),
  accessLog: both('access-log-enabled', boolean, {
    default: '`false`',
    description: 'Access logs to S3.',
    lbc: 'yes',
    cpa: 'yes',
  }),
  accessLogBucket: both('access-log-s3-bucket-name', text, {
    default: '-',
    description: 'Bucket for access logs.',
    lbc: 'yes',
    cpa: 'yes',
  }),
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
    description: 'Deregistered instances may finish their connections.',
    cpa: 'yes',
  }),
  drainingTimeout: classic('connection-draining-timeout', integer(1, 3600), {
    default: '300',
    description: 'Seconds after which these connections are closed.',
    cpa: 'yes',
  }),
  idleTimeout: classic('connection-idle-timeout', integer(1, 4000), {
    default: '60',
    description: 'Seconds without data after which a connection is closed.',
    cpa: 'yes',
  }),
  tags: both('additional-resource-tags', resourceTags, {
    default: '-',
    description: 'At most 30 tags for all resources of the Service. A tag that is no longer named is removed. Tags of others stay.',
    lbc: 'differs',
    cpa: 'differs',
    difference:
      'on all resources; overrides `--aws-default-tags`; LBC also removes tags of others; CPA removes none and accepts a key without `=`',
  }),
  securityGroups: both('security-groups', texts('security group ids or Name tags'), {
    default: 'Herald creates one',
    description: 'Security groups of the load balancer, instead of one that Herald manages.',
    lbc: 'yes',
    cpa: 'differs',
    difference: 'also for NLBs, without a mode that must be enabled',
  }),
  extraSecurityGroups: classic('extra-security-groups', texts('security group ids'), {
    default: '-',
    description: 'Further security groups beside the managed one.',
    cpa: 'yes',
  }),
  manageBackendRules: nlb('manage-backend-security-group-rules', boolean, {
    default: '`false`',
    description:
      'With `security-groups`: nodes still admit the load balancer, by the security group of the cluster. `false` with `disable-nlb-sg`: the user opens the nodes.',
    lbc: 'yes',
  }),
  sourceRanges: {
    ...both('-', cidrs, {
      default: '`0.0.0.0/0`, and `::/0` with dual stack',
      description:
        'Clients that may connect. spec.loadBalancerSourceRanges wins. Refused where Herald has no security group that enforces it, for example with `security-groups` or `disable-nlb-sg`.',
      lbc: 'yes',
      cpa: 'differs' as const,
      difference: 'also IPv6',
    }),
    key: `${legacyPrefix}load-balancer-source-ranges`,
  },
  prefixLists: nlb('security-group-prefix-lists', prefixLists, {
    default: '-',
    description: 'Further clients, by prefix list. Without source ranges only these may connect.',
    lbc: 'yes',
  }),
  privateLinkRules: nlb('inbound-sg-rules-on-private-link-traffic', word('on', 'off'), {
    default: '`on`, AWS’ default',
    description: '`on`: the rules apply to PrivateLink clients too.',
    lbc: 'yes',
  }),
  pathMtuDiscovery: nlb('enable-icmp-for-path-mtu-discovery', word('on', 'off'), {
    default: '`off`',
    description: 'Admits "fragmentation needed" (ICMP 3/4, ICMPv6 2/0) from every source.',
    lbc: 'yes',
  }),
  disableSecurityGroups: nlb('disable-nlb-sg', boolean, {
    default: '`false`',
    description:
      'The NLB is created without security groups and can never get any. Herald does not open nodes for it, so it also needs `manage-backend-security-group-rules: "false"` (or `--aws-node-rules=leave`).',
    lbc: 'differs',
    difference:
      'the user manages the rules of nodes, and must say so; LBC opens nodes for client addresses (the VPC if internal) and for the subnets of the NLB',
  }),
  targetNodeLabels: both('target-node-labels', labels, {
    default: '-',
    description: 'Only nodes with these labels are registered. With an empty value, or without `=`, the label must be present.',
    lbc: 'differs',
    cpa: 'yes',
    difference: 'LBC refuses a key without `=`, and an empty value matches only an empty label',
  }),
  multiCluster: nlb('multi-cluster-target-group', boolean, {
    default: '`false`',
    description:
      '[Others register targets](aws.md#target-groups-of-several-clusters) in the target groups too: Herald deregisters only those that it has registered itself.',
    lbc: 'differs',
    difference: 'Herald records its targets in an annotation of the Service, LBC in a ConfigMap',
  }),
  capacityUnits: nlb('minimum-load-balancer-capacity', capacityUnits, {
    default: '-',
    description:
      'Capacity that AWS keeps ready (and bills), as `CapacityUnits=3000`. `CapacityUnits=0` reserves none. Herald reserves it when the NLB is active. Of Services that share an NLB the oldest decides.',
    lbc: 'differs',
    difference: 'without the annotation the NLB gets its previous reservation back; LBC keeps the last one',
  }),
} as const satisfies Record<string, AnnotationEntry<never> | AnnotationEntry<unknown>>;
