import type { Clock } from '../../system/clock.ts';
import { Alarm, type Schedule } from '../../system/schedule.ts';
import type { Claim } from '../claim/claim.ts';
import type { PeerView } from '../election/peer-view.ts';
import { inquiryInterval, inquiryProbes, inquiryTime } from '../limits.ts';

/** `other`: a third node answered for the address. */
export type InquiryResult = 'answered' | 'other' | 'silent';

interface Inquiry {
  readonly claim: Claim;
  /** The node whose answer is awaited. Undefined: any node's. */
  readonly peer: PeerView | undefined;
  readonly done: (result: InquiryResult) => void;
  readonly alarm: Alarm;
  sent: number;
  answer: InquiryResult;
}

export interface InquiryHost {
  readonly clock: Clock;
  readonly schedule: Schedule;
  sendProbe(claim: Claim): void;
}

/** Asks by ARP or NDP whether another node answers for an address: two probes, 30 ms apart, and silence for 60 ms. */
export class Inquiries {
  readonly #host: InquiryHost;
  readonly #byClaim = new Map<Claim, Set<Inquiry>>();

  constructor(host: InquiryHost) {
    this.#host = host;
  }

  /** `patience`: milliseconds to wait for an answer to a first probe alone, before the others. */
  ask(claim: Claim, peer: PeerView | undefined, done: (result: InquiryResult) => void, patience = 0): void {
    const { clock, schedule } = this.#host;
    const alarm = new Alarm((now) => this.#rang(inquiry, now));
    const inquiry: Inquiry = { claim, peer, done, alarm, sent: 0, answer: 'silent' };
    const inquiries = this.#byClaim.get(claim);
    if (inquiries === undefined) this.#byClaim.set(claim, new Set([inquiry]));
    else inquiries.add(inquiry);
    if (patience > 0) {
      this.#host.sendProbe(claim);
      schedule.setAlarm(alarm, clock.now() + patience);
    } else {
      this.#rang(inquiry, clock.now());
    }
  }

  /** Sends a probe whose answer nothing waits for. */
  probe(claim: Claim): void {
    this.#host.sendProbe(claim);
  }

  /** A node claimed or answered for the address. */
  heard(claim: Claim, peer: PeerView): void {
    for (const inquiry of this.#byClaim.get(claim) ?? []) {
      if (inquiry.peer === undefined || inquiry.peer === peer) this.#finish(inquiry, 'answered');
      else inquiry.answer = 'other';
    }
  }

  /** Ends what is asked about an address that is gone. */
  cancel(claim: Claim): void {
    for (const inquiry of this.#byClaim.get(claim) ?? []) this.#finish(inquiry, 'other');
  }

  /** Forgets all that is asked, without a result. */
  forgetAll(): void {
    for (const inquiries of this.#byClaim.values()) for (const { alarm } of inquiries) this.#host.schedule.clearAlarm(alarm);
    this.#byClaim.clear();
  }

  #rang(inquiry: Inquiry, now: number): void {
    const { schedule } = this.#host;
    if (inquiry.sent < inquiryProbes) {
      inquiry.sent++;
      this.#host.sendProbe(inquiry.claim);
      // A late timer must not shorten the time in which an answer may come.
      schedule.setAlarm(inquiry.alarm, now + (inquiry.sent < inquiryProbes ? inquiryInterval : inquiryTime - inquiryInterval));
      return;
    }
    this.#finish(inquiry, inquiry.answer);
  }

  #finish(inquiry: Inquiry, result: InquiryResult): void {
    this.#host.schedule.clearAlarm(inquiry.alarm);
    const inquiries = this.#byClaim.get(inquiry.claim);
    inquiries?.delete(inquiry);
    if (inquiries?.size === 0) this.#byClaim.delete(inquiry.claim);
    inquiry.done(result);
  }
}
