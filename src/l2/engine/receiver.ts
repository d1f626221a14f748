import { formatAddress } from '../../net/address.ts';
import type { Clock } from '../../system/clock.ts';
import type { Claim } from '../claim/claim.ts';
import { answersClients } from '../claim/fsm.ts';
import { countIgnored, type Counters } from '../counters.ts';
import { decodeFrame, type Frame } from '../wire/frame.ts';
import { isGroupMac, type Mac } from '../wire/mac.ts';
import { isUnspecified } from '../wire/multicast.ts';
import type { ClaimRunner, Sender } from './claim-runner.ts';
import type { Elections } from './elections.ts';
import type { Inquiries } from './inquiries.ts';
import type { LinkView } from './link-view.ts';
import type { Responder } from './responder.ts';

interface ReceiverHost {
  readonly clock: Clock;
  readonly counters: Counters;
  readonly responder: Responder;
  readonly inquiries: Inquiries;
  readonly elections: Elections;
  readonly runner: ClaimRunner;
  /** False while this node is suspended or reads old frames. */
  readonly mayAnswer: boolean;
  linkOf(networkInterface: string): LinkView | undefined;
  isOwnMac(mac: Mac): boolean;
  transmit(link: LinkView, octets: Uint8Array): void;
}

/** Takes the frames of all interfaces: what they claim, and what they ask. */
export class Receiver {
  readonly #host: ReceiverHost;

  constructor(host: ReceiverHost) {
    this.#host = host;
  }

  receive(networkInterface: string, octets: Uint8Array): void {
    const link = this.#host.linkOf(networkInterface);
    if (link === undefined) return;
    const frame = decodeFrame(octets);
    if (typeof frame === 'string') return countIgnored(this.#host.counters, frame);
    const mac =
      frame.kind === 'arp' ? frame.senderMac : frame.kind === 'advertisement' ? (frame.targetLink ?? frame.etherSource) : frame.etherSource;
    if (this.#host.isOwnMac(mac) || this.#host.isOwnMac(frame.etherSource)) return countIgnored(this.#host.counters, 'ownFrame');
    if (!isGroupMac(frame.etherDestination) && frame.etherDestination !== link.mac) return countIgnored(this.#host.counters, 'destination');
    if (frame.kind === 'arp' && frame.etherSource !== mac) this.#host.counters.otherEtherSource++;
    const peer = link.peersByMac.get(mac);
    this.#handle(link, frame, { mac, ...(peer === undefined ? {} : { peer }) });
  }

  #handle(link: LinkView, frame: Frame, from: Sender): void {
    if (frame.kind === 'advertisement') {
      const claim = link.claims.get(formatAddress(frame.target));
      if (claim !== undefined) this.#claimed(link, claim, from);
      return;
    }
    const source = frame.kind === 'arp' ? frame.sender : frame.source;
    if (frame.kind === 'arp' && !isUnspecified(source)) {
      const claim = link.claims.get(formatAddress(source));
      if (claim !== undefined) this.#claimed(link, claim, from);
      // A conflicting request gets no answer but the defence (RFC 5227 2.4, 2.5). An announcement is one, too.
      if (frame.operation === 'reply' || source.value === frame.target.value) return;
    } else if (frame.kind === 'arp' && frame.operation === 'reply') {
      return;
    }
    const claim = link.claims.get(formatAddress(frame.target));
    if (claim === undefined) return;
    if (isUnspecified(source) && from.peer === undefined) this.#host.runner.dispatch(link, claim, 'foreignProbe', from);
    if (!this.#host.mayAnswer) return;
    const answer = this.#host.responder.answer(link, claim, frame, this.#host.clock.now());
    if (answer !== undefined) this.#host.transmit(link, answer);
  }

  /** Another host claims an address of the table. */
  #claimed(link: LinkView, claim: Claim, from: Sender): void {
    const { peer } = from;
    if (peer === undefined) {
      claim.foreignHeard = this.#host.clock.now();
      if (claim.state !== 'standby') this.#host.counters.foreignConflicts++;
      return this.#host.runner.dispatch(link, claim, claim.entry.onConflict === 'withdraw' ? 'heardForeignWithdraw' : 'heardForeign', from);
    }
    claim.notes.heardFrom = { at: this.#host.clock.now(), peer };
    claim.silent.delete(peer);
    const isNews = peer.session !== 'AdminDown' && peer.heard();
    this.#host.inquiries.heard(claim, peer);
    this.#host.elections.announced(claim, peer);
    // A node that stops may still answer. It is about to hear that this node has the address.
    const isBetter = claim.isBetter(peer) && peer.session !== 'AdminDown';
    if (answersClients(claim.state)) this.#host.counters.nodeConflicts++;
    this.#host.runner.dispatch(link, claim, isBetter ? 'heardBetter' : 'heardWorse', from);
    if (isNews) this.#host.elections.evaluatePeer(link, peer);
  }
}
