import { anySelects } from '../../model/objects/label-selector.ts';
import { requestedDrain } from '../../model/kinds/requested-drain.ts';
import { serviceKey } from '../../model/objects/metadata.ts';
import { isCurrent, type NodeState, type SessionStatus } from '../../model/objects/node-state.ts';
import { isExcludedNode, type Node } from '../../model/objects/cluster.ts';
import type { Service } from '../../model/objects/service.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { BasisMemo, basisOf } from '../../model/store/versioned-map.ts';
import { wantsDirectReturn } from '../direct-return/plan.ts';
import { nodesOfEndpoints } from '../forwarding/endpoints.ts';
import { causeKey } from './causes.ts';

/**
 * Sorts the nodes into groups that do the same for a Service, each for the same reasons, so that one view holds for all nodes of a group: only
 * the names in its reasons differ. A group is sorted by name, and the groups are sorted by their first names. Costs little for each node, and
 * nothing that grows with its report.
 *
 * A node that the Service itself tells apart from others (by an endpoint, by a difference in its report) and a node that drains or holds back a
 * family is a group of its own. Zones and hints make no difference: they never leave a node without an endpoint. `onLink`: what is particular
 * to a node on its links, as text.
 */
export function alikeNodes(snapshot: Snapshot, service: Service, now: number, onLink: (node: string) => string): string[][] {
  const { nodes, nodeStates } = snapshot;
  const traits = traitsOf(snapshot);
  const key = serviceKey(service.metadata);
  const hosts = nodesOfEndpoints(snapshot, service);
  const usesPaths = hosts.size > 0 && wantsDirectReturn(snapshot.config, service);
  const groups: string[][] = [];
  const found = new Map<string, Map<string, string[]>>();
  for (const name of namesOf(snapshot)) {
    const state = nodeStates.get(name);
    const isOwn = hosts.has(name) || (state !== undefined && isSingledOut(state, key, usesPaths));
    const place = isOwn ? undefined : traits.ofNode(nodes.get(name));
    const report = place === undefined ? undefined : traits.ofReport(state, now);
    if (place === undefined || report === undefined) {
      groups.push([name]);
      continue;
    }
    const alike = found.get(place) ?? new Map<string, string[]>();
    found.set(place, alike);
    const told = `${report}${onLink(name)}`;
    const group = alike.get(told);
    if (group !== undefined) {
      group.push(name);
      continue;
    }
    const begun = [name];
    alike.set(told, begun);
    groups.push(begun);
  }
  return groups;
}

function isSingledOut({ differing, directReturn }: NodeState, service: string, usesPaths: boolean): boolean {
  return (usesPaths && directReturn !== undefined) || differing.some((difference) => difference.service === service);
}

const names = new BasisMemo<readonly string[]>();

/** Returns the names of nodes that exist or report, sorted. */
function namesOf({ nodes, nodeStates }: Snapshot): readonly string[] {
  return names.get(nodes, [...basisOf(nodes), ...basisOf(nodeStates)], () =>
    [...new Set([...nodes.keys(), ...nodeStates.keys()])].toSorted(),
  );
}

const traits = new BasisMemo<Traits>();

function traitsOf(snapshot: Snapshot): Traits {
  const { config, nodes, peers, advertisements } = snapshot;
  return traits.get(nodes, [config, ...basisOf(peers), ...basisOf(advertisements)], () => new Traits(snapshot));
}

/** What decisions read of Nodes and reports, as text: equal for nodes that decisions do not tell apart. Each object is read once. */
class Traits {
  readonly #snapshot: Snapshot;
  readonly #nodes = new WeakMap<Node, { readonly text: string | undefined }>();
  readonly #reports = new WeakMap<NodeState, { readonly text: string | undefined }>();

  constructor(snapshot: Snapshot) {
    this.#snapshot = snapshot;
  }

  /** Undefined: the node drains, and looks at the other nodes. */
  ofNode(node: Node | undefined): string | undefined {
    if (node === undefined) return 'no Node';
    const known = this.#nodes.get(node) ?? { text: this.#readNode(node) };
    this.#nodes.set(node, known);
    return known.text;
  }

  /** Undefined: the node drains or holds back a family, and looks at the other nodes. */
  ofReport(state: NodeState | undefined, now: number): string | undefined {
    if (state === undefined) return 'no report';
    const known = this.#reports.get(state) ?? { text: reportText(state) };
    this.#reports.set(state, known);
    // Decisions read also the report of an agent that has fallen silent.
    return known.text === undefined || isCurrent(state, now) ? known.text : `silent ${known.text}`;
  }

  #readNode(node: Node): string | undefined {
    const { config, peers, advertisements } = this.#snapshot;
    if (requestedDrain(config, node) !== undefined) return undefined;
    const { labels } = node.metadata;
    const selecting = [peers, advertisements].map((objects) =>
      [...objects].flatMap(([of, { nodeSelectors }]) => (anySelects(nodeSelectors, labels) ? [of] : [])),
    );
    return JSON.stringify([isExcludedNode(node), node.networkUnavailable, selecting]);
  }
}

function reportText({ sessions, heldBack = [], drain, problem, truncated }: NodeState): string | undefined {
  if (heldBack.length > 0 || drain !== undefined) return undefined;
  const about = problem === undefined ? '' : causeKey(problem);
  return JSON.stringify([about, truncated === true, sessions.map(sessionText)]);
}

/** What decisions read of a session that is up, and all that explains why one is down. */
function sessionText({ peer, address, interface: device, state, since, warning, cause, lastError, damping, bfd }: SessionStatus): unknown {
  const told = [peer, address, device, since !== '', warning === undefined ? '' : causeKey(warning)];
  if (state === 'Established') return told;
  const held = damping?.until === undefined ? [] : [damping.until, damping.flapsInLastHour];
  return [...told, state, cause === undefined ? '' : causeKey(cause), lastError, bfd?.awaited, held];
}
