import type { Claim } from '../claim/claim.ts';
import { PeerView } from '../election/peer-view.ts';
import { answersPerInterface, maximumPeers, settleTime } from '../limits.ts';
import { Alarm } from '../../system/schedule.ts';
import type { Link, Peer, PeerSession } from '../table.ts';
import type { LinkNews } from '../transport/transport.ts';
import { parseMac, type Mac } from '../wire/mac.ts';
import { TokenBucket } from '../../lang/token-bucket.ts';

/** The changes of a link. */
export interface LinkChange {
  /** It has another MAC address, or is reached by another way. */
  readonly moved: boolean;
  readonly carrierReturned: boolean;
}

interface TableChange extends LinkChange {
  readonly promiscuous: boolean;
  readonly peers: boolean;
}

/** The knowledge of this node about one segment. The engine changes it. */
export class LinkView {
  readonly interface: string;
  #told = { mac: 0 as Mac, carrier: true };
  /** The latest news of the kernel. They are newer than the table, which takes a while to follow. */
  #kernel: { readonly mac: Mac | undefined; readonly carrier: boolean } | undefined;
  promiscuous = false;
  /** Claims by address. */
  readonly claims = new Map<string, Claim>();
  readonly peers = new Map<string, PeerView>();
  readonly peersByMac = new Map<Mac, PeerView>();
  /** The claims for which a peer is a candidate that ranks above this node. */
  readonly betterClaims = new Map<PeerView, Set<Claim>>();
  /** Addresses may be claimed. */
  isSettled = false;
  /** The link is settled when all sessions are up, at this time at the latest. */
  settlesAt = Infinity;
  /** After a stall the states of sessions are old, so only the time counts. */
  waitsForTime = false;
  isolated = false;
  /** Where the watchdog goes on, for each peer. */
  readonly watched = new Map<PeerView, Iterator<Claim>>();
  /** Peers without a session that are being asked whether they live, and peers that the watchdog asks. */
  readonly asked = new Set<PeerView>();
  readonly beingWatched = new Set<PeerView>();
  /** Times at which sessions were lost. */
  #losses: number[] = [];
  readonly settling = new Alarm(() => this.onSettleTime());
  onSettleTime: () => void = () => undefined;
  readonly answers = new TokenBucket({ burst: answersPerInterface / 10, refillMilliseconds: 1_000 / answersPerInterface });

  constructor(networkInterface: string) {
    this.interface = networkInterface;
  }

  get mac(): Mac {
    return this.#kernel?.mac ?? this.#told.mac;
  }

  get carrier(): boolean {
    return this.#told.carrier && (this.#kernel?.carrier ?? true);
  }

  /** Takes what the kernel says. Returns what has changed. */
  takeNews({ mac, carrier, moved }: LinkNews): LinkChange {
    const [macBefore, carrierBefore] = [this.mac, this.carrier];
    this.#kernel = { mac: (mac === undefined ? undefined : parseMac(mac)) ?? this.#kernel?.mac, carrier };
    return { moved: moved || this.mac !== macBefore, carrierReturned: this.carrier && !carrierBefore };
  }

  /**
   * Takes what the table says, and keeps what is known of peers that stay. Sessions that no peer names any more are forgotten: one that is made
   * anew has no state until it reports one. Returns what has changed.
   */
  take(link: Link, sessions: Map<string, PeerSession>, now: number): TableChange {
    const [macBefore, carrierBefore, promiscuousBefore] = [this.mac, this.carrier, this.promiscuous];
    this.#told = { mac: parseMac(link.mac) ?? this.mac, carrier: link.carrier ?? true };
    this.promiscuous = link.promiscuous ?? false;
    const namesBefore = this.sessionNames;
    const peers = this.#takePeers(link.peers, (name) => sessions.get(name), now);
    for (const name of namesBefore.difference(this.sessionNames)) sessions.delete(name);
    return {
      moved: this.mac !== macBefore,
      carrierReturned: this.carrier && !carrierBefore,
      promiscuous: this.promiscuous !== promiscuousBefore,
      peers,
    };
  }

  /** Returns true if nodes came or went. */
  #takePeers(peers: readonly Peer[], sessionOf: (name: string) => PeerSession | undefined, now: number): boolean {
    const wanted = new Set(peers.map(({ node }) => node));
    const gone = [...this.peers.values()].filter(({ node }) => !wanted.has(node));
    for (const peer of gone) {
      this.peers.delete(peer.node);
      this.betterClaims.delete(peer);
      this.watched.delete(peer);
      this.asked.delete(peer);
      this.beingWatched.delete(peer);
    }
    let isChanged = gone.length > 0;
    this.peersByMac.clear();
    for (const peer of peers.slice(0, maximumPeers)) {
      const mac = parseMac(peer.mac) ?? 0;
      const present = this.peers.get(peer.node);
      const view = present ?? new PeerView(peer, mac);
      isChanged ||= present === undefined;
      view.mac = mac;
      view.sessionName = peer.session;
      if (view.setSession(peer.session === undefined ? undefined : sessionOf(peer.session), now)) isChanged = true;
      this.peers.set(peer.node, view);
      this.peersByMac.set(mac, view);
    }
    return isChanged;
  }

  unsettle(until: number, onlyTime: boolean): void {
    this.isSettled = false;
    this.settlesAt = until;
    this.waitsForTime = onlyTime;
    this.asked.clear();
    this.beingWatched.clear();
  }

  /** Returns true if the link becomes settled now. */
  settle(now: number): boolean {
    if (this.isSettled || ((this.waitsForTime || !this.hasAllSessions) && now < this.settlesAt)) return false;
    this.isSettled = true;
    return true;
  }

  /** Notes a change of a session. Returns whether this node lost all others at once, or found one of them again. */
  noteSession(before: PeerSession | undefined, session: PeerSession, now: number): 'isolated' | 'rejoined' | undefined {
    if (before === 'Up' && session === 'Down') this.#losses = [...this.#losses.filter((at) => now - at < settleTime), now];
    if (session === 'Up' && this.isolated) {
      this.isolated = false;
      return 'rejoined';
    }
    if (this.isolated || this.sessionsUp > 0 || this.#losses.length < 2) return undefined;
    this.isolated = true;
    return 'isolated';
  }

  get sessionNames(): Set<string> {
    return new Set([...this.peers.values()].flatMap(({ sessionName }) => sessionName ?? []));
  }

  get hasAllSessions(): boolean {
    return this.peers
      .values()
      .every(({ sessionName, session }) => sessionName === undefined || session === 'Up' || session === 'AdminDown');
  }

  get sessionsUp(): number {
    return this.peers.values().reduce((sum, { session }) => sum + (session === 'Up' ? 1 : 0), 0);
  }

  get noPeerLiveness(): boolean {
    return this.isSettled && this.peers.size > 0 && !this.peers.values().some(({ everUp }) => everUp);
  }

  /** Adds the claim to the lists of the peers above this node. */
  index(claim: Claim): void {
    for (const candidate of claim.candidates) {
      if (candidate === 'self') return;
      const list = this.betterClaims.get(candidate);
      if (list === undefined) this.betterClaims.set(candidate, new Set([claim]));
      else list.add(claim);
    }
  }

  unindex(claim: Claim): void {
    for (const candidate of claim.candidates) if (candidate !== 'self') this.betterClaims.get(candidate)?.delete(claim);
  }
}
