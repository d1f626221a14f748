import { selects } from '../model/objects/label-selector.ts';
import type { Snapshot } from '../model/store/snapshot.ts';
import type { Address } from '../net/address.ts';
import { prefixContains, type Prefix } from '../net/prefix.ts';
import { namespaceLabels } from './namespace-labels.ts';

/** Returns the prefixes around an external IP that policies allow the namespace. None: it is neither forwarded nor announced. */
export function allowedExternalPrefixes(snapshot: Snapshot, namespace: string, address: Address): Prefix[] {
  const labels = namespaceLabels(snapshot, namespace);
  return [...snapshot.externalIPPolicies.values()]
    .filter(({ namespaceSelector }) => selects(namespaceSelector, labels))
    .flatMap(({ cidrs }) => cidrs.filter((cidr) => prefixContains(cidr, address)));
}
