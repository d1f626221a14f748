import type { Address } from '../../net/address.ts';
import type { Alarm } from '../../system/schedule.ts';
import type { Candidate } from '../election/elect.ts';
import type { PeerView } from '../election/peer-view.ts';
import type { AddressEntry } from '../table.ts';
import type { Mac } from '../wire/mac.ts';
import { AnswerRate } from './answer-rate.ts';
import type { ClaimEvent, ClaimState } from './fsm.ts';

/** The history of an address, for people: times are milliseconds of the clock. */
class ClaimNotes {
  since: number;
  cause: ClaimEvent | undefined;
  /** How often this node became the owner. */
  claims = 0;
  requests = 0;
  answers = 0;
  lastRequest: { readonly at: number; readonly from: Mac } | undefined;
  lastAnswer: { readonly at: number; readonly from: Mac } | undefined;
  readonly rate = new AnswerRate();
  lastAnnouncement: number | undefined;
  lastConflict: { readonly at: number; readonly mac: Mac } | undefined;
  /** The latest node of ours, other than this one, that was heard with the address. */
  heardFrom: { readonly at: number; readonly peer: PeerView } | undefined;

  constructor(since: number) {
    this.since = since;
  }
}

/** Defence against claims of nodes that rank below this one. */
class Defence {
  peer: PeerView | undefined;
  count = 0;
  /** Not before this time. */
  next = -Infinity;
  interval = 0;
  last = -Infinity;
  /** The peer insists, and this node does not give way. */
  isDisputed = false;
  wasReported = false;
}

/** The alarms of an address. */
export interface ClaimAlarms {
  /** The next announcement or probe. */
  readonly transmission: Alarm;
  /** The end of the state. */
  readonly deadline: Alarm;
  /** Asks whether the better candidate answers. */
  readonly check: Alarm;
  /** A defence that came too early. */
  readonly defence: Alarm;
}

/** One address on one interface. The engine changes it. */
export class Claim {
  readonly key: string;
  readonly address: Address;
  readonly interface: string;
  readonly notes: ClaimNotes;
  readonly alarms: ClaimAlarms;
  state: ClaimState = 'standby';
  entry: AddressEntry;
  candidates: readonly Candidate[] = [];
  /** Better candidates that did not answer for this address although their sessions are up. */
  readonly silent = new Set<PeerView>();
  /** Worse candidates to which this node gave way, because both insisted. */
  readonly above = new Set<PeerView>();
  /** The candidate to which this node defers, if it watches that one. */
  deferredTo: PeerView | undefined;
  /** The number of the next announcement or probe of the schedule. */
  round = 0;
  /** Changes with every new schedule, so that queued work of an old one is dropped. */
  generation = 0;
  readonly defence = new Defence();
  /** Not before this time does this node announce against a foreign host again. */
  nextForeignDefence = -Infinity;
  /** When a foreign host was last heard with the address, by whomever it was held. */
  foreignHeard = -Infinity;
  /** A foreign host claims the address while this node answers for it. */
  isContested = false;
  /** When this node last asked whether that host is still there. */
  lookedAt = -Infinity;
  /** When a foreign host was last reported. */
  lastReport = -Infinity;

  constructor(key: string, address: Address, entry: AddressEntry, now: number, alarms: (claim: Claim) => ClaimAlarms) {
    this.key = key;
    this.address = address;
    this.interface = entry.interface;
    this.entry = entry;
    this.notes = new ClaimNotes(now);
    this.alarms = alarms(this);
  }

  /** True if the peer ranks above this node for this address. */
  isBetter(peer: PeerView): boolean {
    if (this.above.has(peer)) return true;
    for (const candidate of this.candidates) {
      if (candidate === 'self') return false;
      if (candidate === peer) return true;
    }
    return false;
  }

  /** The path to the peer has changed, so it is open again who gives way. Returns true if this node had given way to it. */
  forgetDispute(peer: PeerView): boolean {
    if (this.defence.peer === peer) this.defence.peer = undefined;
    return this.above.delete(peer);
  }

  /** A node of ours had the address, so no foreign host is looked for. */
  get wasOurs(): boolean {
    return this.entry.everHeld === true || this.notes.heardFrom !== undefined || this.notes.claims > 0;
  }
}
