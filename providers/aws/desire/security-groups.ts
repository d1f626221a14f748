import { reason } from '../../../src/model/reasons.ts';
import type { Service } from '../../../src/model/objects/service.ts';
import { formatPrefix, type Prefix } from '../../../src/net/prefix.ts';
import { annotationTable, type AnnotationValues } from '../annotations/table.ts';
import { limits } from '../model/limits.ts';
import type { IngressRule, RuleSource } from '../model/desired.ts';
import type { Facts } from '../model/facts.ts';
import { checkQuota, type Issues } from '../model/issues.ts';

/** The sources that may connect: the field of the Service, else the annotation, else all addresses. */
export function clientSources(service: Service, values: AnnotationValues, dualstack: boolean, issues: Issues): RuleSource[] {
  const written = service.loadBalancerSourceRanges.length > 0 ? service.loadBalancerSourceRanges : values.sourceRanges;
  const lists = (values.prefixLists ?? []).map((id): RuleSource => ({ kind: 'prefixList', id }));
  if (written === undefined) {
    return lists.length > 0 ? lists : everybody(dualstack).map((cidr) => ({ kind: 'cidr', cidr }));
  }
  if (!dualstack && written.some(({ address }) => address.family === 6)) {
    issues.error(reason('AwsSettingsConflict', { what: 'a source range is IPv6, but the load balancer is not dual stack' }));
  }
  return [...written.map((prefix: Prefix): RuleSource => ({ kind: 'cidr', cidr: formatPrefix(prefix) })), ...lists];
}

/** Why no security group of Herald restricts the clients, and where they can be restricted then. */
const unenforced = {
  disabled: {
    because: 'with aws-load-balancer-disable-nlb-sg the NLB has no security group',
    otherwise:
      'the security groups of the nodes admit the right clients, or remove aws-load-balancer-disable-nlb-sg (an NLB that exists without groups never gets any: create the Service anew)',
  },
  given: {
    because: 'it does not change the groups that aws-load-balancer-security-groups names',
    otherwise: 'the rules of those groups admit the right clients, or remove aws-load-balancer-security-groups',
  },
  adopted: {
    because: 'the owner of the load balancer that herald.dev/aws-load-balancer names manages its security groups',
    otherwise: 'its groups admit the right clients, or remove herald.dev/aws-load-balancer',
  },
  fixed: {
    because: 'the NLB was made without security groups, and AWS attaches none later',
    otherwise: 'the security groups of the nodes admit the right clients, or create the Service anew for an NLB with security groups',
  },
  joined: {
    because: 'with herald.dev/aws-target-group the load balancer has another owner',
    otherwise: 'its owner admits the right clients, or remove herald.dev/aws-target-group',
  },
} as const;

export type Unenforced = keyof typeof unenforced;

/**
 * Reports a setting that restricts the clients where no security group of Herald enforces it: every client could connect, although the
 * Service asks for the opposite.
 */
export function checkEnforced(
  { loadBalancerSourceRanges }: Service,
  { sourceRanges, prefixLists = [] }: AnnotationValues,
  { why, dualstack }: { readonly why: Unenforced; readonly dualstack: boolean },
  issues: Issues,
): void {
  const refuse = (setting: string): void => issues.error(reason('AwsSourcesNotEnforced', { setting, ...unenforced[why] }));
  if (loadBalancerSourceRanges.length > 0) refuse('spec.loadBalancerSourceRanges');
  else if (sourceRanges === undefined) {
    if (prefixLists.length > 0) refuse(annotationTable.prefixLists.key);
  } else if (!everybody(dualstack).every((open) => sourceRanges.some((range) => formatPrefix(range) === open))) {
    refuse(annotationTable.sourceRanges.key);
  }
}

/** All addresses that a client of the load balancer may have. */
function everybody(dualstack: boolean): string[] {
  return dualstack ? ['0.0.0.0/0', '::/0'] : ['0.0.0.0/0'];
}

interface OpenPort {
  readonly protocol: 'tcp' | 'udp';
  readonly port: number;
}

/** The ingress rules for these sources. Adjacent ports of one protocol share a rule. No rule opens other ports. */
export function clientRules(ports: readonly OpenPort[], sources: readonly RuleSource[], pathMtuDiscovery: boolean): IngressRule[] {
  const ranges = (['tcp', 'udp'] as const).flatMap((protocol) =>
    portRanges(ports.filter((port) => port.protocol === protocol).map(({ port }) => port)).map(([from, to]) => ({ protocol, from, to })),
  );
  const fragmentation = (source: RuleSource): IngressRule[] => {
    if (!pathMtuDiscovery || source.kind !== 'cidr') return [];
    return [source.cidr.includes(':') ? { protocol: 'icmpv6', from: 2, to: 0, source } : { protocol: 'icmp', from: 3, to: 4, source }];
  };
  return sources.flatMap((source) => [...ranges.map((range) => ({ ...range, source })), ...fragmentation(source)]);
}

function portRanges(ports: readonly number[]): (readonly [number, number])[] {
  const ranges: [number, number][] = [];
  for (const port of [...new Set(ports)].toSorted((a, b) => a - b)) {
    const last = ranges.at(-1);
    if (last !== undefined && last[1] + 1 === port) last[1] = port;
    else ranges.push([port, port]);
  }
  return ranges;
}

/** Finds the named security groups, by id or by Name tag. */
export function namedGroups(names: readonly string[], { securityGroups }: Facts, issues: Issues): string[] {
  const byId = Map.groupBy(securityGroups, ({ id }) => id);
  const byName = Map.groupBy(securityGroups, ({ tags }) => tags['Name']);
  return names.flatMap((name) => {
    const found = (name.startsWith('sg-') ? byId : byName).get(name) ?? [];
    const [group] = found;
    if (group !== undefined && found.length === 1) return [group.id];
    issues.error(reason('AwsSecurityGroupNotFound', { group: name }));
    return [];
  });
}

export function checkRuleQuota(rules: readonly IngressRule[], issues: Issues): void {
  checkQuota('rules in its security group', rules.length, limits.rulesPerSecurityGroup, issues);
}
