import { defined } from '../../lang/defined.ts';
import { peersOnNode, type PeerOnNode, type PeerSummary } from '../../decisions/configuration/peer-status.ts';
import { currentReport } from '../../model/objects/node-state.ts';
import type { Reason } from '../../model/reasons.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';

interface Total {
  nodes: number;
  expected: number;
  established: number;
  /** By node, like `causes`. */
  readonly refused: Map<string, Reason>;
  readonly causes: Map<string, Reason>;
  readonly warnings: Map<string, Reason>;
  /** Nodes by their BGP Identifier. */
  readonly identified: Map<string, Set<string>>;
}

/** Counts the sessions of each peer over all nodes. A report of one node costs only the work for that node. */
export class PeerSessionCounts {
  readonly #nodes = new Map<string, ReadonlyMap<string, PeerOnNode>>();
  readonly #totals = new Map<string, Total>();
  /** Nodes whose report was current at the last update. */
  readonly #reporting = new Set<string>();

  /** Recounts the sessions of the node and returns the peers whose counts changed. */
  updateNode(snapshot: Snapshot, node: string, now: number): Set<string> {
    const before = this.#nodes.get(node) ?? new Map<string, PeerOnNode>();
    const after = peersOnNode(snapshot, node, now);
    if (currentReport(snapshot.nodeStates, node, now) === undefined) this.#reporting.delete(node);
    else this.#reporting.add(node);
    if (after.size === 0) this.#nodes.delete(node);
    else this.#nodes.set(node, after);
    const changed = new Set<string>();
    for (const peer of new Set([...before.keys(), ...after.keys()])) {
      const [old, now] = [before.get(peer), after.get(peer)];
      if (JSON.stringify(old) === JSON.stringify(now)) continue;
      changed.add(peer);
      this.#count(peer, node, old, -1);
      this.#count(peer, node, now, 1);
    }
    return changed;
  }

  updateAllNodes(snapshot: Snapshot, now: number): Set<string> {
    const nodes = new Set([...snapshot.nodes.keys(), ...this.#nodes.keys()]);
    return new Set([...nodes].flatMap((node) => [...this.updateNode(snapshot, node, now)]));
  }

  /** Updates the nodes whose reports expired since the last update. */
  updateSilentNodes(snapshot: Snapshot, now: number): Set<string> {
    const silent = [...this.#reporting].filter((node) => currentReport(snapshot.nodeStates, node, now) === undefined);
    return new Set(silent.flatMap((node) => [...this.updateNode(snapshot, node, now)]));
  }

  of(peer: string): PeerSummary {
    const { nodes, expected, established, refused, causes, warnings, identified } = this.#totals.get(peer) ?? emptyTotal();
    const sharedID = firstShared(identified);
    return {
      nodes,
      expected,
      established,
      ...defined({ refused: ofFirstNode(refused), cause: ofFirstNode(causes), warning: ofFirstNode(warnings), sharedID }),
    };
  }

  #count(peer: string, node: string, on: PeerOnNode | undefined, by: 1 | -1): void {
    if (on === undefined) return;
    const total = this.#totals.get(peer) ?? emptyTotal();
    this.#totals.set(peer, total);
    total.nodes += by;
    if (on.expected) total.expected += by;
    if (on.established) total.established += by;
    replaceOf(total.refused, node, by === 1 ? on.refused : undefined);
    replaceOf(total.causes, node, by === 1 ? on.cause : undefined);
    replaceOf(total.warnings, node, by === 1 ? on.warning : undefined);
    if (on.routerID !== undefined) identify(total.identified, on.routerID, node, by);
    if (total.nodes === 0) this.#totals.delete(peer);
  }
}

function emptyTotal(): Total {
  return { nodes: 0, expected: 0, established: 0, refused: new Map(), causes: new Map(), warnings: new Map(), identified: new Map() };
}

function replaceOf(reasons: Map<string, Reason>, node: string, because: Reason | undefined): void {
  if (because === undefined) reasons.delete(node);
  else reasons.set(node, because);
}

function ofFirstNode(reasons: ReadonlyMap<string, Reason>): Reason | undefined {
  const [first] = [...reasons.keys()].toSorted();
  return first === undefined ? undefined : reasons.get(first);
}

function identify(identified: Map<string, Set<string>>, routerID: string, node: string, by: 1 | -1): void {
  const nodes = identified.get(routerID) ?? new Set();
  if (by === 1) identified.set(routerID, nodes.add(node));
  else if (nodes.delete(node) && nodes.size === 0) identified.delete(routerID);
}

function firstShared(identified: ReadonlyMap<string, ReadonlySet<string>>): PeerSummary['sharedID'] {
  const [first] = [...identified].filter(([, nodes]) => nodes.size > 1).toSorted(([a], [b]) => (a < b ? -1 : 1));
  if (first === undefined) return undefined;
  const [routerID, nodes] = first;
  const [one, other] = [...nodes].toSorted();
  return one === undefined || other === undefined ? undefined : { routerID, nodes: [one, other] };
}
