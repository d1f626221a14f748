import type { Snapshot } from './snapshot.ts';

/** Copies a snapshot to a plain object, which can be spread. */
export function valuesOf(snapshot: Snapshot): Snapshot {
  const { services, nodes, namespaces, secrets, pools, peers, advertisements, communities } = snapshot;
  const { serviceCIDRs, l2Advertisements, externalIPPolicies, bfdProfiles, nodeStates, config } = snapshot;
  return {
    services,
    holdersOf: (address) => snapshot.holdersOf(address),
    endpointSlices: (key) => snapshot.endpointSlices(key),
    nodes,
    namespaces,
    secrets,
    pools,
    peers,
    advertisements,
    l2Advertisements,
    bfdProfiles,
    communities,
    serviceCIDRs,
    externalIPPolicies,
    nodeStates,
    config,
  };
}
