import type { IpPermission } from '../../cloud/ec2.ts';
import type { IngressRule, RuleSource } from '../../model/desired.ts';

export function ruleKey({ protocol, from, to, source }: IngressRule): string {
  return `${protocol} ${from} ${to} ${sourceText(source)}`;
}

function sourceText(source: RuleSource): string {
  return source.kind === 'cidr' ? source.cidr : source.id;
}

/** Returns the rules that are not among the others, each once. */
export function missingRules(rules: readonly IngressRule[], others: readonly IngressRule[]): IngressRule[] {
  const known = new Set(others.map(ruleKey));
  return [...new Map(rules.map((rule) => [ruleKey(rule), rule])).values()].filter((rule) => !known.has(ruleKey(rule)));
}

/** Splits permissions into rules. Each pair of port range and source is one rule. */
export function rulesOf(permissions: readonly IpPermission[]): IngressRule[] {
  return permissions.flatMap(({ IpProtocol: protocol, FromPort: from = -1, ToPort: to = -1, ...sources }) => {
    const rule = (source: RuleSource): IngressRule => ({ protocol, from, to, source });
    return [
      ...(sources.IpRanges ?? []).map(({ CidrIp }) => rule({ kind: 'cidr', cidr: CidrIp })),
      ...(sources.Ipv6Ranges ?? []).map(({ CidrIpv6 }) => rule({ kind: 'cidr', cidr: CidrIpv6 })),
      ...(sources.PrefixListIds ?? []).map(({ PrefixListId }) => rule({ kind: 'prefixList', id: PrefixListId })),
      ...(sources.UserIdGroupPairs ?? []).map(({ GroupId }) => rule({ kind: 'group', id: GroupId })),
    ];
  });
}

export function permission({ protocol, from, to, source }: IngressRule, description?: string): IpPermission {
  const Description = description === undefined ? {} : { Description: description };
  const range = { IpProtocol: protocol, FromPort: from, ToPort: to };
  switch (source.kind) {
    case 'prefixList':
      return { ...range, PrefixListIds: [{ PrefixListId: source.id, ...Description }] };
    case 'group':
      return { ...range, UserIdGroupPairs: [{ GroupId: source.id, ...Description }] };
    case 'cidr':
      return source.cidr.includes(':')
        ? { ...range, Ipv6Ranges: [{ CidrIpv6: source.cidr, ...Description }] }
        : { ...range, IpRanges: [{ CidrIp: source.cidr, ...Description }] };
  }
}
