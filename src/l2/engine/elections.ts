import type { Clock } from '../../system/clock.ts';
import type { Random } from '../../system/random.ts';
import type { Schedule } from '../../system/schedule.ts';
import type { Claim } from '../claim/claim.ts';
import { answersClients, type ClaimEvent } from '../claim/fsm.ts';
import { elect, type Election } from '../election/elect.ts';
import type { PeerView, Standing } from '../election/peer-view.ts';
import { announcementPatience, foreignMemory, maximumInquiries, watchdogPatience, watchdogStrikes, yieldCheckTime } from '../limits.ts';
import type { Inquiries, InquiryResult } from './inquiries.ts';
import type { LinkView } from './link-view.ts';
import type { Pacer } from './pacer.ts';

export interface ElectionsHost {
  readonly clock: Clock;
  readonly random: Random;
  readonly schedule: Schedule;
  readonly inquiries: Inquiries;
  readonly pacer: Pacer;
  /** False while this node stops or its main thread is gone. */
  readonly mayClaim: boolean;
  dispatch(link: LinkView, claim: Claim, event: ClaimEvent): void;
}

/** Most claims of a peer that the watchdog looks at to find one to ask for. */
const watchdogLook = 64;

/** Decides for each address whether this node should own it, and asks better candidates whether they live. */
export class Elections {
  readonly #host: ElectionsHost;

  constructor(host: ElectionsHost) {
    this.#host = host;
  }

  /** Decides one address by what is known now. */
  evaluate(link: LinkView, claim: Claim): void {
    if (!this.#host.mayClaim || !link.isSettled || !link.carrier) return;
    const election = this.#elect(claim);
    switch (election.kind) {
      case 'elected':
        claim.deferredTo = undefined;
        return this.#host.dispatch(link, claim, this.#isFree(claim) ? 'elected' : 'electedFirst');
      case 'excluded':
        claim.deferredTo = undefined;
        return this.#host.dispatch(link, claim, 'excluded');
      case 'ask':
        return this.#askSuspect(link, claim, election.peer);
      case 'deferred':
        this.#expectAnnouncement(claim, election);
        return this.#host.dispatch(link, claim, 'deferred');
    }
  }

  /** Decides many addresses, first the ones for which most requests were heard. */
  evaluateAll(link: LinkView, claims: Iterable<Claim>): void {
    for (const claim of [...claims].sort((a, b) => b.notes.requests - a.notes.requests)) this.evaluate(link, claim);
  }

  /** Decides the addresses for which the peer is a better candidate. */
  evaluatePeer(link: LinkView, peer: PeerView): void {
    this.evaluateAll(link, link.betterClaims.get(peer) ?? []);
  }

  /** The better candidate has announced the address, so it need not be asked. */
  announced(claim: Claim, peer: PeerView): void {
    if (claim.deferredTo === peer) this.#host.schedule.clearAlarm(claim.alarms.check);
  }

  /** Asks whether the better candidate answers for this address. */
  check(link: LinkView, claim: Claim): void {
    const election = this.#elect(claim);
    if (!this.#host.mayClaim || !link.isSettled || election.kind !== 'deferred' || !mayAsk(claim, election.isNext)) return;
    this.#host.inquiries.ask(claim, election.to, (result) => {
      if (result === 'silent') this.#wasSilent(link, claim, election.to);
    });
  }

  /** Asks each better candidate that this node follows for one of its addresses, another one each time. */
  watch(link: LinkView): void {
    if (!this.#host.mayClaim || !link.isSettled || !link.carrier) return;
    for (const peer of link.peers.values()) if (peer.standing === 'in') this.#watchPeer(link, peer, watchdogPatience);
  }

  /**
   * Asks each better candidate in whose place this node owns addresses for one of them. When a partition heals, both own them, and the sessions
   * need a second to come up again, or never do where BFD is blocked. An answer counts as its claim.
   */
  askAbsent(link: LinkView): void {
    if (!this.#host.mayClaim || !link.isSettled || !link.carrier) return;
    for (const [peer, claims] of link.betterClaims) {
      if (peer.verdict !== 'silent' || peer.session === 'AdminDown') continue;
      const owned = claims
        .values()
        .take(watchdogLook)
        .find(({ state }) => state === 'owner');
      if (owned !== undefined) this.#host.inquiries.probe(owned);
    }
  }

  /** Claims in doubt become held again where no other node answers. One address is asked for each node that may have taken over. */
  confirm(link: LinkView, doubtful: readonly Claim[]): void {
    const groups = Map.groupBy(doubtful, ({ candidates }) => candidates.find((candidate) => candidate !== 'self'));
    for (const claims of groups.values()) {
      const [sample] = claims;
      if (sample === undefined) continue;
      // Also without another node: frames that wait in the socket are read before the answers begin.
      this.#host.inquiries.ask(sample, undefined, (result) => {
        for (const claim of claims) {
          if (result === 'silent') this.#host.dispatch(link, claim, 'confirmed');
          else if (claim !== sample) this.#confirmAlone(link, claim);
        }
      });
    }
  }

  #confirmAlone(link: LinkView, claim: Claim): void {
    this.#host.pacer.add('claim', () => {
      if (claim.state !== 'doubtful') return false;
      this.#host.inquiries.ask(claim, undefined, (result) => {
        if (result === 'silent') this.#host.dispatch(link, claim, 'confirmed');
      });
      return true;
    });
  }

  /** No foreign host need be looked for. The owner that gave the address up to one does not answer, and lives. */
  #isFree(claim: Claim): boolean {
    const wasGivenUp = claim.entry.onConflict === 'withdraw' && this.#host.clock.now() - claim.foreignHeard < foreignMemory;
    return claim.wasOurs && (!wasGivenUp || claim.state !== 'standby');
  }

  #elect(claim: Claim): Election {
    for (const peer of claim.above) if (peer.standing === 'in') return { kind: 'deferred', to: peer, isNext: true };
    return elect(claim.candidates, (peer) => standingFor(claim, peer));
  }

  /** The better candidate should announce the address soon. It is asked for it if it does not. */
  #expectAnnouncement(claim: Claim, { to, isNext }: Election & { readonly kind: 'deferred' }): void {
    if (claim.deferredTo === to) return;
    claim.deferredTo = to;
    if (!mayAsk(claim, isNext) || (!answersClients(claim.state) && claim.notes.heardFrom?.peer === to)) return;
    const { clock, random, schedule } = this.#host;
    // An owner that hands over asks sooner, because the other one may hold the address already.
    const patience = answersClients(claim.state) ? yieldCheckTime : announcementPatience;
    schedule.setAlarm(claim.alarms.check, clock.now() + patience * (1 + 0.2 * random()));
  }

  #askSuspect(link: LinkView, claim: Claim, peer: PeerView, attempt = 1): void {
    if (link.asked.has(peer)) return;
    link.asked.add(peer);
    this.#host.inquiries.ask(claim, peer, (result) => {
      link.asked.delete(peer);
      if (peer.standing !== 'suspect' || result === 'answered') return;
      const another = result === 'other' && attempt < maximumInquiries ? this.#anotherSuspected(link, claim, peer) : undefined;
      if (another !== undefined) return this.#askSuspect(link, another, peer, attempt + 1);
      this.#wasSilent(link, claim, peer);
    });
  }

  #anotherSuspected(link: LinkView, than: Claim, peer: PeerView): Claim | undefined {
    let looked = 0;
    for (const claim of link.betterClaims.get(peer) ?? []) {
      if (++looked > watchdogLook) return undefined;
      const election = claim === than ? undefined : this.#elect(claim);
      if (election?.kind === 'ask' && election.peer === peer) return claim;
    }
    return undefined;
  }

  #watchPeer(link: LinkView, peer: PeerView, patience: number): void {
    if (link.beingWatched.has(peer)) return;
    const claim = this.#nextWatched(link, peer);
    if (claim === undefined) return;
    link.beingWatched.add(peer);
    const done = (result: InquiryResult): void => {
      link.beingWatched.delete(peer);
      if (result === 'silent' && peer.standing === 'in') this.#wasSilent(link, claim, peer);
    };
    this.#host.inquiries.ask(claim, peer, done, patience);
  }

  /** Returns an address that the peer should own and this node would own without it. */
  #nextWatched(link: LinkView, peer: PeerView): Claim | undefined {
    const claims = link.betterClaims.get(peer);
    if (claims === undefined) return undefined;
    for (let looked = 0; looked < Math.min(watchdogLook, claims.size); looked++) {
      let next = link.watched.get(peer)?.next();
      if (next === undefined || next.done === true) {
        const fresh = claims.values();
        link.watched.set(peer, fresh);
        next = fresh.next();
      }
      if (next.done === true) return undefined;
      const election = this.#elect(next.value);
      if (election.kind === 'deferred' && election.to === peer && election.isNext) return next.value;
    }
    return undefined;
  }

  /**
   * The peer did not answer for the address. If nothing else shows that it lives, it has failed. Otherwise only this address is without an
   * owner, perhaps because the peer sees another node that this one does not see; unless more are, then its responder has failed.
   */
  #wasSilent(link: LinkView, claim: Claim, peer: PeerView): void {
    if (peer.standing === 'in' && ++peer.strikes < watchdogStrikes) {
      claim.silent.add(peer);
      this.evaluate(link, claim);
      this.#watchPeer(link, peer, 0);
      return;
    }
    peer.verdict = 'silent';
    this.evaluatePeer(link, peer);
  }
}

/** The next candidate in rank asks the better one, and so does an owner of any rank that hands over: otherwise both might go on. */
function mayAsk(claim: Claim, isNext: boolean): boolean {
  return isNext || answersClients(claim.state);
}

function standingFor(claim: Claim, peer: PeerView): Standing {
  return claim.silent.has(peer) ? 'out' : peer.standing;
}
