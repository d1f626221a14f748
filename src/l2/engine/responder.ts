import type { Claim } from '../claim/claim.ts';
import { answersClients } from '../claim/fsm.ts';
import { countIgnored, type Counters } from '../counters.ts';
import { answersPerMac, maximumCountedMacs } from '../limits.ts';
import type { ArpPacket } from '../wire/arp.ts';
import { isUnspecified } from '../wire/multicast.ts';
import type { NeighborSolicitation } from '../wire/ndp.ts';
import type { LinkView } from './link-view.ts';
import { arpAnswer, ndpAnswer } from './messages.ts';
import { TokenBucket } from '../../lang/token-bucket.ts';

/** Answers requests for held addresses, within the limits for each host and each interface. */
export class Responder {
  readonly #counters: Counters;
  readonly #byMac = new Map<number, TokenBucket>();

  constructor(counters: Counters) {
    this.#counters = counters;
  }

  /** Returns the answer, if this node owes one. */
  answer(link: LinkView, claim: Claim, frame: ArpPacket | NeighborSolicitation, now: number): Uint8Array | undefined {
    const from = frame.kind === 'arp' ? frame.senderMac : frame.etherSource;
    claim.notes.requests++;
    claim.notes.lastRequest = { at: now, from };
    this.#counters.requests++;
    const isProbe = isUnspecified(frame.kind === 'arp' ? frame.sender : frame.source);
    const isOfNode = isProbe && link.peersByMac.has(from);
    const mayAnswer = answersClients(claim.state) || (claim.state === 'doubtful' && isOfNode);
    if (!mayAnswer) return undefined;
    // A flood of requests must not make this node look dead: the probes of other nodes have no limit but that of a host.
    const limit = !this.#bucketOf(from, now).take(now) ? 'macLimit' : isOfNode || link.answers.take(now) ? undefined : 'interfaceLimit';
    if (limit !== undefined) {
      countIgnored(this.#counters, limit);
      return undefined;
    }
    claim.notes.answers++;
    // A question of another node only shows that this one lives; one of a client shows that clients reach it.
    if (!isOfNode) {
      claim.notes.lastAnswer = { at: now, from };
      claim.notes.rate.add(now);
    }
    this.#counters.answers++;
    return frame.kind === 'arp' ? arpAnswer(frame, link.mac) : ndpAnswer(frame, link.mac);
  }

  #bucketOf(mac: number, now: number): TokenBucket {
    const present = this.#byMac.get(mac);
    if (present !== undefined) return present;
    if (this.#byMac.size >= maximumCountedMacs) this.#forget(now);
    const bucket = new TokenBucket({ burst: answersPerMac / 10, refillMilliseconds: 1_000 / answersPerMac });
    this.#byMac.set(mac, bucket);
    return bucket;
  }

  /** Forgets the hosts that have not asked recently or, if all have, the one that is known longest. */
  #forget(now: number): void {
    for (const [mac, bucket] of this.#byMac) if (bucket.isFull(now)) this.#byMac.delete(mac);
    const [oldest] = this.#byMac.keys();
    if (this.#byMac.size >= maximumCountedMacs && oldest !== undefined) this.#byMac.delete(oldest);
  }
}
