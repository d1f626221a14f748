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

  /** Returns the Services that a change names. */
  namedBy(changes: readonly Change[], snapshot: Snapshot): Set<ServiceKey> {
    const keys = changes.flatMap(({ services = [] }) => services);
    return new Set(keys.filter((key) => isAnnounced(snapshot.services.get(key))));
  }

  /** Returns all announced Services if a change may concern any of them, else none. */
  afterChanges(changes: readonly Change[], snapshot: Snapshot): readonly ServiceKey[] {
    // Each report is compared with the last one, also when an earlier change is reason enough.
    const concerning = changes.filter(
      ({ kind, key }) => shared.has(kind) || (kind === 'NodeState' && this.#hasChanged(key, snapshot.nodeStates.get(key))),
    );
    return concerning.length === 0 ? [] : announced(snapshot);
  }

  /** Returns the announced Services if an agent has fallen silent, or reports again, since the last call. */
  afterSilence(snapshot: Snapshot, now: number): readonly ServiceKey[] {
    const speaking = [...snapshot.nodeStates.keys()]
      .filter((node) => currentReport(snapshot.nodeStates, node, now) !== undefined)
      .toSorted();
    const before = this.#reportingNodes;
    this.#reportingNodes = speaking.join(' ');
    return before === this.#reportingNodes ? [] : announced(snapshot);
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

function announced({ services }: Snapshot): ServiceKey[] {
  return [...services].flatMap(([key, service]) => (isAnnounced(service) ? [key] : []));
}

/** The nodes do not serve a load balancer with a hostname, so its conditions do not depend on them. */
function isAnnounced(service: Service | undefined): boolean {
  return service !== undefined && assignedAddresses(service).length > 0;
}
