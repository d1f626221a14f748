import { anySelects } from '../../model/objects/label-selector.ts';
import { requestedDrain } from '../../model/kinds/requested-drain.ts';
import { serviceKey } from '../../model/objects/metadata.ts';
import { isCurrent, type NodeState, type SessionStatus } from '../../model/objects/node-state.ts';
import { isExcludedNode, type Node } from '../../model/objects/cluster.ts';
import type { Service } from '../../model/objects/service.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { BasisMemo, basisOf } from '../../model/store/versioned-map.ts';
import { runsSession } from '../announcement/peers.ts';
import { wantsDirectReturn } from '../direct-return/plan.ts';
import { nodesOfEndpoints } from '../forwarding/endpoints.ts';
import { causeKey } from './causes/causes.ts';
import { hintCodes } from './causes/hints.ts';
import { nodeNames } from './node-names.ts';

/**
 * Sorts the nodes into groups that do the same for a Service, each for the same reasons, so that one view holds for all nodes of a group: only
 * `detailsOfOneNode` differ. The names of a group are sorted, and so are the groups by their first names. Costs little for each node, and
 * nothing that grows with its report.
 *
 * A node that the Service itself tells apart from others (by an endpoint, by a difference in its report) and a node that drains or holds back a
 * family is a group of its own. Zones and hints make no difference: they never leave a node without an endpoint. `besides` returns as text
 * what a node does by ARP and NDP, and which BGPAdvertisements leave it out for others.
 */
export function alikeNodes(snapshot: Snapshot, service: Service, now: number, besides: (node: string) => string): string[][] {
  const { nodes, nodeStates } = snapshot;
  const traits = traitsOf(snapshot);
  const key = serviceKey(service.metadata);
  const hosts = nodesOfEndpoints(snapshot, service);
  // A node that passes packets on to the nodes of endpoints may lack a path to one.
  const passesOn = (state: NodeState): boolean =>
    hosts.size > 0 && wantsDirectReturn(snapshot.config, service) && state.directReturn !== undefined;
  const tellsApart = ({ differing, checks }: NodeState): boolean =>
    [differing, checks?.failing ?? []].some((entries) => entries.some((entry) => entry.service === key));
  const isAlone = (name: string, state: NodeState | undefined): boolean =>
    hosts.has(name) || (state !== undefined && (passesOn(state) || tellsApart(state)));
  const groups: string[][] = [];
  const byTraits = new Map<string, Map<string, string[]>>();
  for (const name of nodeNames(snapshot, now)) {
    const state = nodeStates.get(name);
    const ofNode = isAlone(name, state) ? undefined : traits.ofNode(nodes.get(name));
    const ofReport = ofNode === undefined ? undefined : traits.ofReport(state, now);
    if (ofNode === undefined || ofReport === undefined) {
      groups.push([name]);
      continue;
    }
    const byReport = byTraits.get(ofNode) ?? new Map<string, string[]>();
    byTraits.set(ofNode, byReport);
    const ofAgent = `${ofReport}${besides(name)}`;
    const known = byReport.get(ofAgent);
    if (known !== undefined) {
      known.push(name);
      continue;
    }
    const group = [name];
    byReport.set(ofAgent, group);
    groups.push(group);
  }
  return groups;
}

const memo = new BasisMemo<NodeTraits>();

function traitsOf(snapshot: Snapshot): NodeTraits {
  const { config, nodes, peers, advertisements } = snapshot;
  return memo.get(nodes, [config, ...basisOf(peers), ...basisOf(advertisements)], () => new NodeTraits(snapshot));
}

/** Texts about Nodes and reports, equal for those that decisions do not tell apart. Each object is read once. */
class NodeTraits {
  readonly #snapshot: Snapshot;
  readonly #nodes = new WeakMap<Node, { readonly text: string | undefined }>();
  readonly #reports = new WeakMap<NodeState, { readonly text: string | undefined }>();

  constructor(snapshot: Snapshot) {
    this.#snapshot = snapshot;
  }

  /** Undefined: the node drains, so its decision depends on other nodes. */
  ofNode(node: Node | undefined): string | undefined {
    if (node === undefined) return 'no Node';
    const known = this.#nodes.get(node) ?? { text: this.#readNode(node) };
    this.#nodes.set(node, known);
    return known.text;
  }

  /** Undefined: the node drains or holds back a family, so its decision depends on other nodes. */
  ofReport(state: NodeState | undefined, now: number): string | undefined {
    if (state === undefined) return 'no report';
    const known = this.#reports.get(state) ?? { text: this.#readReport(state) };
    this.#reports.set(state, known);
    // Decisions also read the report of an agent that has fallen silent.
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

  #readReport({ sessions, heldBack = [], drain, problem, truncated, directReturn, host = [] }: NodeState): string | undefined {
    if (heldBack.length > 0 || drain !== undefined) return undefined;
    const about = problem === undefined ? '' : causeKey(problem);
    const ofSessions = sessions.map((session) => this.#readSession(session));
    const hints = host.flatMap((because) => (hintCodes.has(because.code) ? [causeKey(because)] : []));
    return JSON.stringify([about, truncated === true, directReturn !== undefined, ofSessions, hints]);
  }

  /** Returns what decisions read of a session that is up, and all that explains why one is down. */
  #readSession(session: SessionStatus): unknown {
    const { peer: name, state, since, warning, cause, lastError, damping, bfd } = session;
    const peer = this.#snapshot.peers.get(name);
    const running = [since !== '', peer !== undefined && runsSession(peer, session)];
    const up = [name, running, warning === undefined ? '' : causeKey(warning)];
    if (state === 'Established') return up;
    return [...up, state, cause === undefined ? '' : causeKey(cause), lastError, bfd?.awaited, damping?.until !== undefined];
  }
}
