import type { ServiceKey } from '../../model/objects/metadata.ts';
import type { ServiceDifference } from '../../model/objects/node-state.ts';
import { reason, type Reason } from '../../model/reasons.ts';
import { frontendKey, type FrontendMatch } from '../../net/frontend.ts';
import type { HostNatRule } from '../../net/host-nat.ts';
import { prefixContains, type Prefix } from '../../net/prefix.ts';

/**
 * Finds the Services with a frontend that a rule of another program may match before Herald's rules do; the first translation wins. Gives
 * one reason for each Service. `nodePortAddresses` are the addresses that serve NodePorts.
 */
export function judgeNats(
  rules: readonly HostNatRule[],
  services: Iterable<readonly [ServiceKey, readonly FrontendMatch[]]>,
  nodePortAddresses: readonly Prefix[],
): Omit<ServiceDifference, 'aspect'>[] {
  if (rules.length === 0) return [];
  const taken: Omit<ServiceDifference, 'aspect'>[] = [];
  for (const [service, frontends] of services) {
    const because = whyTaken(rules, frontends, nodePortAddresses);
    if (because !== undefined) taken.push({ service, reason: because });
  }
  return taken;
}

function whyTaken(rules: readonly HostNatRule[], frontends: readonly FrontendMatch[], nodePorts: readonly Prefix[]): Reason | undefined {
  for (const rule of rules) {
    const match = frontends.find((frontend) => mayMatch(rule, frontend, nodePorts));
    if (match === undefined) continue;
    const { family, table, chain, hook, priority, text } = rule;
    const details = { chain: `${chain} of table ${family} ${table}`, hook, priority, rule: text, frontend: frontendKey(match) };
    return reason('ForeignNat', details);
  }
  return undefined;
}

function mayMatch(rule: HostNatRule, match: FrontendMatch, nodePorts: readonly Prefix[]): boolean {
  const family = match.kind === 'address' ? match.address.family : match.family;
  if (rule.family !== 'inet' && rule.family !== (family === 4 ? 'ip' : 'ip6')) return false;
  if (rule.protocol !== undefined && rule.protocol !== match.protocol) return false;
  if (rule.ports !== undefined && !rule.ports.some(({ first, last }) => first <= match.port && match.port <= last)) return false;
  if (match.kind === 'address') {
    return !rule.onlyLocal && (rule.destinations?.some((prefix) => prefixContains(prefix, match.address)) ?? true);
  }
  const overlaps = (a: Prefix, b: Prefix): boolean => prefixContains(a, b.address) || prefixContains(b, a.address);
  return rule.destinations?.some((prefix) => nodePorts.some((served) => overlaps(prefix, served))) ?? true;
}
