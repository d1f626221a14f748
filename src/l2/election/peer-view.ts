import type { Peer, PeerSession } from '../table.ts';
import type { Mac } from '../wire/mac.ts';

/**
 * The opinion of this node about another one, as a candidate. `in`: it owns the addresses that it is best for. `out`: it does not count. `suspect`: it must be
 * asked before its addresses are claimed.
 */
export type Standing = 'in' | 'suspect' | 'out';

/** The answer to the latest probes since the session changed. */
export type Verdict = 'unknown' | 'answered' | 'silent';

/** Another node on a segment: its session, and what it answered. */
export class PeerView {
  readonly node: string;
  mac: Mac;
  sessionName: string | undefined;
  /** Undefined: no state was reported yet, or there is no session. */
  session: PeerSession | undefined;
  /** When it came into this state, by the monotonic clock. */
  sessionSince: number | undefined;
  everUp = false;
  verdict: Verdict = 'unknown';
  /** Addresses in a row for which it did not answer although its session is up. */
  strikes = 0;

  constructor(peer: Peer, mac: Mac) {
    this.node = peer.node;
    this.mac = mac;
    this.sessionName = peer.session;
  }

  get standing(): Standing {
    if (this.session === 'AdminDown') return 'out';
    if (this.verdict === 'silent') return 'out';
    if (this.session === 'Up' || this.verdict === 'answered') return 'in';
    return 'suspect';
  }

  /** BFD says dead, but it answers ARP or NDP: the path of the one is broken, or BFD is starved. */
  get answersWithoutSession(): boolean {
    return this.sessionName !== undefined && this.session !== 'Up' && this.session !== 'AdminDown' && this.verdict === 'answered';
  }

  /** Takes the new state of the session. Returns true if that changes the standing. */
  setSession(session: PeerSession | undefined, now: number): boolean {
    if (session === this.session) return false;
    const before = this.standing;
    this.session = session;
    this.sessionSince = now;
    this.everUp ||= session === 'Up';
    this.verdict = 'unknown';
    this.strikes = 0;
    return this.standing !== before;
  }

  /** It claimed or answered for an address. Returns true if that changes the standing. */
  heard(): boolean {
    const before = this.standing;
    this.strikes = 0;
    if (this.session !== 'Up') this.verdict = 'answered';
    else if (this.verdict === 'silent') this.verdict = 'unknown';
    return this.standing !== before;
  }
}
