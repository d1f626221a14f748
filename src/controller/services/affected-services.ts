import { addressesText, currentReport, type NodeLink, type NodeState } from '../../model/objects/node-state.ts';
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
  /** Each node's last report on sessions and Services, as JSON, and the Services that it names. */
  readonly #seen = new Map<string, { readonly text: string; readonly services: readonly ServiceKey[] }>();
  #reportingNodes = '';

  /** Takes the reports that the first reconciliation of all Services reads. */
  adopt({ nodeStates }: Pick<Snapshot, 'nodeStates'>): void {
    for (const [node, state] of nodeStates) this.#take(node, state);
  }

  /** `named`: the Services that a change names. `others`: all announced ones, if a change may concern any of them. */
  afterChanges(
    changes: readonly Change[],
    snapshot: Snapshot,
  ): { readonly named: Set<ServiceKey>; readonly others: readonly ServiceKey[] } {
    const named = new Set<ServiceKey>();
    let areAll = false;
    for (const { kind, key, services = [] } of changes) {
      const news = kind === 'NodeState' ? this.#take(key, snapshot.nodeStates.get(key)) : undefined;
      if (news !== undefined || shared.has(kind)) areAll = true;
      for (const one of [...services, ...(news ?? [])]) if (isAnnounced(snapshot.services.get(one))) named.add(one);
    }
    return { named, others: areAll ? announced(snapshot) : [] };
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

  /** Returns the Services that the report of a node names, or named before. Undefined: it says nothing new. */
  #take(node: string, state: NodeState | undefined): readonly ServiceKey[] | undefined {
    const { text: before, services: earlier = [] } = this.#seen.get(node) ?? {};
    if (state === undefined) return this.#seen.delete(node) ? earlier : undefined;
    const sessions = state.sessions.map(({ peer, state, lastError, cause, damping, bfd }) => {
      // The text may contain counts, which change although the cause does not.
      return [peer, state === 'Established', cause ?? lastError, damping?.until, bfd?.awaited !== undefined];
    });
    const unseen = state.host?.some(({ code }) => code === 'ForwardingNotSeen');
    const heldBack = state.heldBack?.map(({ family, settled, reason }) => [family, settled, reason]);
    const text = JSON.stringify([
      sessions,
      state.differing,
      state.truncated,
      state.problem,
      unseen,
      state.drain?.phase,
      heldBack,
      state.links?.map(linkText),
      addressesText(state),
    ]);
    const services = state.differing.map(({ service }) => service);
    this.#seen.set(node, { text, services });
    return text === before ? undefined : [...earlier, ...services];
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
