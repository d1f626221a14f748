import { reason, type Reason } from '../../model/reasons.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import type { Address } from '../../net/address.ts';
import { familyOf, formatPrefix, prefixContains, withoutPrefix } from '../../net/prefix.ts';

/**
 * Finds podCIDRs of this Node outside of those in HeraldConfig: its pods count as clients from outside there. `pods`: endpoints on this
 * node. Where all of them in a family are inside of HeraldConfig, the network plugin does not use the Node's ranges. Interfaces of pods
 * tell pods by themselves.
 */
export function judgePodRanges(
  { config, nodes }: Pick<Snapshot, 'config' | 'nodes'>,
  node: string,
  pods: readonly Address[],
): Reason | undefined {
  const { podCIDRs, podInterfaces } = config;
  if (podCIDRs.length === 0 || podInterfaces.length > 0) return undefined;
  const isKnown = (address: Address): boolean => podCIDRs.some((known) => prefixContains(known, address));
  const missed = (nodes.get(node)?.podCIDRs ?? []).filter((own) => {
    const family = pods.filter((pod) => pod.family === familyOf(own));
    const isUnused = family.length > 0 && family.every(isKnown);
    return !isUnused && podCIDRs.reduce((rest, known) => rest.flatMap((one) => withoutPrefix(one, known)), [own]).length > 0;
  });
  if (missed.length === 0) return undefined;
  const texts = { missed: missed.map(formatPrefix).join(' and '), configured: podCIDRs.slice(0, namedRanges).map(formatPrefix).join(', ') };
  return reason('PodCIDRsMissed', { node, ...texts });
}

/** HeraldConfig takes a thousand. */
const namedRanges = 8;
