import assert from 'node:assert';
import { bfdProfile } from './kinds/bfd-profile.ts';
import { bgpAdvertisement } from './kinds/bgp-advertisement.ts';
import { bgpPeer } from './kinds/bgp-peer.ts';
import { community } from './kinds/community.ts';
import { externalIPPolicy } from './kinds/external-ip-policy.ts';
import { heraldConfig } from './kinds/herald-config.ts';
import { ipAddressPool } from './kinds/ip-address-pool.ts';
import { l2Advertisement } from './kinds/l2-advertisement.ts';
import { nodeState } from './kinds/node-state.ts';

export const heraldApiGroup = 'herald.dev';
export const heraldApiVersion = `${heraldApiGroup}/v1alpha1`;

/** Herald's own kinds. The reader, the CRDs, the JSON schema and the reference page are derived from each definition. */
export const kinds = [
  ipAddressPool,
  bgpPeer,
  bgpAdvertisement,
  l2Advertisement,
  bfdProfile,
  community,
  externalIPPolicy,
  heraldConfig,
  nodeState,
] as const;

/** Returns the name of a kind in API paths. Throws for a kind that is not Herald's. */
export function pluralOf(kind: string): string {
  const found = kinds.find((one) => one.kind === kind);
  assert(found !== undefined, `${kind} is not a kind of Herald`);
  return found.plural;
}
