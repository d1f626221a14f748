import { lastClaims } from '../../decisions/l2/last-claims.ts';
import type { AddressClaim, NodeState } from '../../model/objects/node-state.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { address as parse } from '../../net/address.ts';
import { limits } from '../limits.ts';

/**
 * The addresses that this node announces, or was the last one to announce, with the numbers of its claims. The report carries them, so that
 * the other nodes and the next process of this one know who has an address (`failback`), and that it is ours (RFC 5227 section 2.1).
 */
export class ClaimRecord {
  readonly #node: string;
  readonly #snapshot: () => Snapshot;
  #claims: readonly AddressClaim[] | undefined;
  /** Addresses that this node has claimed since the numbers were given. */
  readonly #fresh = new Set<string>();

  constructor(node: string, snapshot: () => Snapshot) {
    this.#node = node;
    this.#snapshot = snapshot;
  }

  /** Returns the same array while nothing has changed. The first ones are those of the report of an earlier process. */
  get claims(): readonly AddressClaim[] {
    const known = this.#claims ?? this.#snapshot().nodeStates.get(this.#node)?.claims ?? [];
    this.#claims = this.#fresh.size === 0 ? known : this.#numbered(known);
    return this.#claims;
  }

  /** This node has become the owner of the address. */
  claimed(address: string): void {
    this.#fresh.add(address);
  }

  /** The node gives the address back to a better placed one as soon as that one takes it, or no longer does. */
  setGivesBack(address: string, givesBack: boolean): void {
    this.#claims = this.claims.map((claim) =>
      claim.address === address ? { address, number: claim.number, ...(givesBack ? { givesBack } : {}) } : claim,
    );
  }

  /** Forgets what another node has claimed since, and addresses that no Service has. Returns the part of the report. */
  reportPart(): Pick<NodeState, 'claims'> {
    const snapshot = this.#snapshot();
    const claims = this.claims;
    const last = lastClaims(snapshot, { node: this.#node, claims });
    // A node that was deleted has no last claims, but may return.
    const isCurrent = ({ address }: AddressClaim): boolean =>
      [this.#node, undefined].includes(last.get(address)?.node) && snapshot.holdersOf(parse(address)).length > 0;
    if (!claims.every(isCurrent)) this.#claims = claims.filter(isCurrent);
    return this.claims.length === 0 ? {} : { claims: this.claims.slice(0, limits.nodeClaims) };
  }

  /** Gives the fresh claims numbers. A claim that is still the last one keeps its number. */
  #numbered(known: readonly AddressClaim[]): readonly AddressClaim[] {
    const last = lastClaims(this.#snapshot(), { node: this.#node, claims: known });
    const claims = new Map(known.map((claim) => [claim.address, claim]));
    for (const address of this.#fresh) {
      const before = last.get(address);
      if (before?.node === this.#node) continue;
      claims.set(address, { address, number: (before?.number ?? 0) + 1 });
    }
    this.#fresh.clear();
    return [...claims.values()];
  }
}
