import type { OwnLinks } from '../../decisions/l2/candidates.ts';
import type { AddressClaim, HeldBackFamily } from '../../model/objects/node-state.ts';
import type { NodeLinks } from './node-links.ts';

/** Knowledge of this node about itself before its report says so. */
export class OwnLinksView {
  readonly #node: string;
  readonly #links: Pick<NodeLinks, 'links'>;
  readonly #heldBack: () => readonly HeldBackFamily[];
  readonly #claims: () => readonly AddressClaim[];
  #last: OwnLinks | undefined;

  constructor(
    node: string,
    links: Pick<NodeLinks, 'links'>,
    heldBack: () => readonly HeldBackFamily[],
    claims: () => readonly AddressClaim[],
  ) {
    this.#node = node;
    this.#links = links;
    this.#heldBack = heldBack;
    this.#claims = claims;
  }

  /** Returns the same object while nothing has changed. Undefined: the links are not known. */
  current(): OwnLinks | undefined {
    const { links } = this.#links;
    if (links === undefined) return undefined;
    const heldBack = this.#heldBack();
    const claims = this.#claims();
    const isSame =
      this.#last?.links === links && this.#last.claims === claims && JSON.stringify(this.#last.heldBack) === JSON.stringify(heldBack);
    if (!isSame) this.#last = { node: this.#node, links, heldBack, claims };
    return this.#last;
  }
}
