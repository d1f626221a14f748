import { currentReport, type NodeLink, type NodeState } from '../../model/objects/node-state.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import { assignedAddresses, type Service } from '../../model/objects/service.ts';
import { formatPrefix } from '../../net/prefix.ts';
import type { Change, KindName, Snapshot } from '../../model/store/snapshot.ts';

/** Kinds whose change may affect where any Service is announced. They have few objects, which rarely change. */
const shared: ReadonlySet<KindName> = new Set<KindName>([
  'Node',
  'BGPPeer',
  'BGPAdvertisement',
  'L2Advertisement',
  'Community',
  'ExternalIPPolicy',
  'HeraldConfig',
  'ServiceCIDR',
  'Secret',
  'IPAddressPool',
]);

/** Finds the Services whose conditions may differ after a change, so that a report without news costs nothing. */
export class AffectedServices {
  /** The sessions and Services in each node's last report, as JSON. */
  readonly #seen = new Map<string, string>();
  #reportingNodes = '';

  /** Takes the reports that the first reconciliation of all Services reads. */
  adopt({ nodeStates }: Pick<Snapshot, 'nodeStates'>): void {
    for (const [node, state] of nodeStates) this.#hasChanged(node, state);
  }

  afterChanges(changes: readonly Change[], snapshot: Snapshot): Set<ServiceKey> {
    const affected = new Set<ServiceKey>();
    for (const change of changes) {
      for (const key of change.services ?? []) if (isAnnounced(snapshot.services.get(key))) affected.add(key);
      if (shared.has(change.kind)) addAnnounced(snapshot, affected);
      if (change.kind === 'NodeState' && this.#hasChanged(change.key, snapshot.nodeStates.get(change.key)))
        addAnnounced(snapshot, affected);
    }
    return affected;
  }

  /** Returns the announced Services if an agent has fallen silent, or reports again, since the last call. */
  afterSilence(snapshot: Snapshot, now: number): Set<ServiceKey> {
    const affected = new Set<ServiceKey>();
    const speaking = [...snapshot.nodeStates.keys()]
      .filter((node) => currentReport(snapshot.nodeStates, node, now) !== undefined)
      .toSorted();
    const before = this.#reportingNodes;
    this.#reportingNodes = speaking.join(' ');
    if (before !== this.#reportingNodes) addAnnounced(snapshot, affected);
    return affected;
  }

  #hasChanged(node: string, state: NodeState | undefined): boolean {
    const before = this.#seen.get(node);
    if (state === undefined) return this.#seen.delete(node);
    const sessions = state.sessions.map(({ peer, state, lastError, cause, damping, bfd }) => {
      // The text may contain counts, which change although the cause does not.
      return [peer, state === 'Established', cause ?? lastError, damping?.until, bfd?.awaited !== undefined];
    });
    const unseen = state.host?.some(({ code }) => code === 'ForwardingNotSeen');
    const heldBack = state.heldBack?.map(({ family, settled, reason }) => [family, settled, reason]);
    const now = JSON.stringify([
      sessions,
      state.differing,
      state.truncated,
      state.problem,
      unseen,
      state.drain?.phase,
      heldBack,
      state.links?.map(linkText),
    ]);
    this.#seen.set(node, now);
    return now !== before;
  }
}

const linkText = ({ name, networks }: NodeLink): string => [name, ...networks.map(formatPrefix)].join(' ');

function addAnnounced(snapshot: Snapshot, affected: Set<ServiceKey>): void {
  for (const [key, service] of snapshot.services) if (isAnnounced(service)) affected.add(key);
}

/** The nodes do not serve a load balancer with a hostname, so its conditions do not depend on them. */
function isAnnounced(service: Service | undefined): boolean {
  return service !== undefined && assignedAddresses(service).length > 0;
}
