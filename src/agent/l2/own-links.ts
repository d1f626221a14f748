import type { OwnLinks } from '../../decisions/l2/candidates.ts';
import type { AddressClaim, HeldBackFamily, NodeLink } from '../../model/objects/node-state.ts';

interface OwnLinksSources {
  readonly links: () => readonly NodeLink[] | undefined;
  readonly heldBack: () => readonly HeldBackFamily[];
  readonly claims: () => readonly AddressClaim[];
}

/** Knowledge of this node about itself before its report says so. */
export class OwnLinksView {
  readonly #node: string;
  readonly #now: OwnLinksSources;
  #last: OwnLinks | undefined;

  constructor(node: string, now: OwnLinksSources) {
    this.#node = node;
    this.#now = now;
  }

  /** Returns the same object while nothing has changed. Undefined: the links are not known. */
  current(): OwnLinks | undefined {
    const [links, heldBack, claims] = [this.#now.links(), this.#now.heldBack(), this.#now.claims()];
    if (links === undefined) return undefined;
    const isSame =
      this.#last?.links === links && this.#last.claims === claims && JSON.stringify(this.#last.heldBack) === JSON.stringify(heldBack);
    if (!isSame) this.#last = { node: this.#node, links, heldBack, claims };
    return this.#last;
  }
}
