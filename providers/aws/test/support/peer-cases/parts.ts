import type { Desired, DesiredClassic, DesiredNlb, DesiredTargetGroup, IngressRule } from '../../../../../providers/aws/model/desired.ts';
import { planNodeRules } from '../../../../../providers/aws/node-rules/plan-node-rules.ts';
import { planStack } from '../../../../../providers/aws/plan/plan.ts';
import { tagMap } from '../../../../../providers/aws/model/tags.ts';
import { defined } from '../../../../../src/lang/defined.ts';
import type { Parts } from './case-files.ts';

/** Describes a desired load balancer by the parts that cases name. */
export function partsOf(desired: Desired): Parts {
  const { scheme, name, tags, securityGroups: groups } = desired;
  return {
    kind: desired.kind,
    scheme,
    name: withoutHash(name),
    tags: foreignTags(tags),
    securityGroupName: groups.kind === 'managed' ? withoutHash(groups.name) : 'none',
    securityGroups: groups.kind === 'given' ? groups.ids : groups.kind === 'managed' ? ['managed', ...groups.extra] : 'none',
    backendGroup: groups.kind !== 'none' && groups.backend,
    rules: groups.kind === 'managed' ? groups.rules.map(ruleText).toSorted() : [],
    securityGroupTags: securityGroupTags(desired),
    openOnTargets: openOnTargets(desired),
    ...(desired.kind === 'nlb' ? nlbParts(desired) : classicParts(desired)),
  };
}

/** The hash of a name says nothing: each program computes its own. */
const withoutHash = (name: string): string => name.replace(/^(k8s-.*-)[0-9a-f]{10}$/, '$1*');

const foreignTags = (tags: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(tags).filter(([key]) => !key.startsWith('herald.dev/')));

function ruleText({ protocol, from, to, source }: IngressRule): string {
  const range = from === to ? `${from}` : `${from}-${to}`;
  return `${protocol} ${range} from ${source.kind === 'cidr' ? source.cidr : source.id}`;
}

/** Returns the tags with which the load balancer's own security group is created. */
function securityGroupTags(desired: Desired): Parts {
  const observed = { loadBalancers: [], targetGroups: [], classic: [], securityGroups: [] };
  const { actions } = planStack({
    observed,
    desired,
    stack: desired.stack,
    cluster: 'test',
    vpcId: 'vpc-1',
    zones: new Map(),
    zoneOf: () => undefined,
    retireSeconds: 0,
    lastTargets: { seconds: 0, mayStay: () => true },
    published: [],
    now: 0,
  });
  const [tags = []] = actions.flatMap((action) =>
    action.operation === 'ec2:CreateSecurityGroup' && action.creates === 'security group'
      ? (action.input.TagSpecifications ?? []).map(({ Tags }) => Tags)
      : [],
  );
  return foreignTags(tagMap(tags));
}

/** Returns the rules by which targets admit the load balancer: all targets have one security group. */
function openOnTargets({ securityGroups: groups, targetPorts }: Desired): string[] {
  if (groups.kind === 'none' || !groups.backend) return [];
  const nodes = { GroupId: 'sg-nodes', GroupName: 'nodes', Description: '', VpcId: 'vpc-1', Tags: [], IpPermissions: [] };
  const accesses = [{ ports: targetPorts, groups: [nodes.GroupId] }];
  const { actions } = planNodeRules({ cluster: 'test', backend: 'sg-backend', accesses, groups: [nodes], mayRevoke: false });
  return actions
    .flatMap((action) => (action.operation === 'ec2:AuthorizeSecurityGroupIngress' ? action.input.IpPermissions : []))
    .map(
      ({ IpProtocol, FromPort, ToPort }) => `${IpProtocol} ${FromPort === ToPort ? FromPort : `${FromPort}-${ToPort}`} from backend group`,
    )
    .toSorted();
}

function nlbParts(nlb: DesiredNlb): Parts {
  const ofPort = (key: string): string => /:(\d+)\//.exec(key)?.[1] ?? key;
  return {
    addressType: nlb.ipAddressType,
    subnets: nlb.subnets.map(({ SubnetId, AllocationId, PrivateIPv4Address, IPv6Address, SourceNatIpv6Prefix }) =>
      [SubnetId, AllocationId, PrivateIPv4Address, IPv6Address, SourceNatIpv6Prefix].filter((part) => part !== undefined).join(' '),
    ),
    attributes: nlb.attributes,
    capacity: nlb.capacityUnits ?? 'unset',
    privateLink: nlb.enforcePrivateLink ?? 'unset',
    // Off is AWS' default.
    sourceNat: nlb.enablePrefixForIpv6SourceNat ?? 'off',
    listeners: Object.fromEntries(
      nlb.listeners.map(({ port, protocol, certificates, sslPolicy, alpnPolicy, attributes, tags }) => [
        port,
        { protocol, certificates, attributes, tags: foreignTags(tags), ...defined({ policy: sslPolicy, alpn: alpnPolicy }) },
      ]),
    ),
    targetGroups: Object.fromEntries(nlb.targetGroups.map((group) => [ofPort(group.key), groupParts(group)])),
  };
}

function groupParts({ protocol, port, targetType, ipAddressType, healthCheck, attributes, tags, targets }: DesiredTargetGroup): Parts {
  const { path, successCodes, intervalSeconds, timeoutSeconds, healthyThreshold, unhealthyThreshold } = healthCheck;
  return {
    protocol,
    // For pods this number is only a default: each pod is registered with its own port.
    port,
    type: targetType,
    family: ipAddressType,
    healthCheck: {
      protocol: healthCheck.protocol,
      port: healthCheck.port,
      ...defined({ path, codes: successCodes }),
      interval: intervalSeconds,
      timeout: timeoutSeconds,
      healthy: healthyThreshold,
      unhealthy: unhealthyThreshold,
    },
    attributes,
    tags: foreignTags(tags),
    targets: targets.map(({ id, port }) => `${id}:${port}`),
  };
}

function classicParts(classic: DesiredClassic): Parts {
  const { HealthyThreshold, UnhealthyThreshold, Interval, Timeout, Target } = classic.healthCheck;
  return {
    subnets: classic.subnets,
    listeners: Object.fromEntries(
      classic.listeners.map(({ LoadBalancerPort, Protocol, InstanceProtocol, InstancePort, SSLCertificateId }) => [
        LoadBalancerPort,
        {
          protocol: Protocol,
          to: `${InstanceProtocol} ${InstancePort}`,
          certificates: SSLCertificateId === undefined ? [] : [SSLCertificateId],
        },
      ]),
    ),
    healthCheck: { target: Target, interval: Interval, timeout: Timeout, healthy: HealthyThreshold, unhealthy: UnhealthyThreshold },
    proxyProtocolPorts: classic.proxyProtocolPorts,
    attributes: classic.attributes,
    policy: classic.sslPolicy ?? 'unset',
    instances: classic.instances,
  };
}
