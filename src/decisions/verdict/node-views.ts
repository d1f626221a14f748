import { assignedAddresses, type Service } from '../../model/objects/service.ts';
import type { Reason } from '../../model/reasons.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { nextHopChoices } from '../announcement/decision.ts';
import { usesLinks } from '../l2/link-advertisements.ts';
import { alikeNodes } from './alike-nodes.ts';
import { causeKey } from './causes/causes.ts';
import { l2ViewsOf, type L2View, type L2Views } from './l2-view.ts';
import { nodeViewsOf, type NodeView } from './node-view.ts';

/** The views of all nodes for one Service. Each is computed when it is asked for, and once. */
export class NodeViews {
  readonly #snapshot: Snapshot;
  readonly #service: Service;
  readonly #now: number;
  readonly #viewL2: L2Views;
  readonly #view: (node: string) => NodeView;
  readonly #known = new Map<string, NodeView>();
  #all: readonly NodeView[] | undefined;

  /** `now` is in milliseconds since the epoch. The age of the agents' reports is measured by it. */
  constructor(snapshot: Snapshot, service: Service, now: number) {
    this.#snapshot = snapshot;
    this.#service = service;
    this.#now = now;
    this.#viewL2 = l2ViewsOf(snapshot, service, now);
    this.#view = nodeViewsOf(snapshot, service, now, this.#viewL2);
  }

  of(node: string): NodeView {
    const known = this.#known.get(node) ?? this.#view(node);
    this.#known.set(node, known);
    return known;
  }

  /** The views of nodes that exist or report, sorted by name. Nodes that do the same for the same reasons have one. */
  all(): readonly NodeView[] {
    return (this.#all ??= this.#groups().map(([first = '', ...alike]) =>
      alike.length === 0 ? this.of(first) : { ...this.of(first), alike },
    ));
  }

  #groups(): string[][] {
    const addresses = !usesLinks(this.#snapshot) ? [] : assignedAddresses(this.#service);
    const onLinks = (node: string): string => addresses.map((address) => l2Text(this.#viewL2(address, node))).join('');
    const choices = nextHopChoices(this.#snapshot, this.#service, this.#now);
    const besides = (node: string): string => `${onLinks(node)} ${choices.map(({ includes }) => Number(includes(node))).join('')}`;
    return alikeNodes(this.#snapshot, this.#service, this.#now, besides);
  }
}

/** Equal for views that differ only by what is different on every node. */
function l2Text(view: L2View | undefined): string {
  if (view === undefined) return '-';
  const told = (because: Reason | undefined): string => (because === undefined ? '' : causeKey(because));
  return JSON.stringify([view.links, told(view.reason), told(view.lastResort), told(view.warning)]);
}
