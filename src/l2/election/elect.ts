import type { PeerView, Standing } from './peer-view.ts';

/** A candidate in the order of rank. `self`: this node. */
export type Candidate = PeerView | 'self';

/**
 * Who should own an address.
 *
 * - `elected`: this node; every better candidate is out.
 * - `deferred`: the best candidate that lives. `isNext`: this node follows it, so it watches it.
 * - `ask`: this node, if this better candidate does not answer.
 * - `excluded`: this node is no candidate.
 */
export type Election =
  | { readonly kind: 'elected' }
  | { readonly kind: 'deferred'; readonly to: PeerView; readonly isNext: boolean }
  | { readonly kind: 'ask'; readonly peer: PeerView }
  | { readonly kind: 'excluded' };

const elected: Election = { kind: 'elected' };
const excluded: Election = { kind: 'excluded' };

/** Decides by the order and by the standing of each candidate for this address. Pure. */
export function elect(candidates: readonly Candidate[], standingOf: (peer: PeerView) => Standing): Election {
  let suspect: PeerView | undefined;
  let best: PeerView | undefined;
  for (const candidate of candidates) {
    if (candidate === 'self') {
      if (best !== undefined) return { kind: 'deferred', to: best, isNext: true };
      return suspect === undefined ? elected : { kind: 'ask', peer: suspect };
    }
    const standing = standingOf(candidate);
    if (standing === 'in') {
      if (best !== undefined) return candidates.includes('self') ? { kind: 'deferred', to: best, isNext: false } : excluded;
      best = candidate;
    } else if (standing === 'suspect') {
      suspect ??= candidate;
    }
  }
  return excluded;
}
