import type { Clock } from '../../system/clock.ts';
import type { Random } from '../../system/random.ts';
import type { Schedule } from '../../system/schedule.ts';
import { answersClients } from '../claim/fsm.ts';
import type { Claim } from '../claim/claim.ts';
import type { PeerView } from '../election/peer-view.ts';
import { announcementTimes, firstProbeInterval, firstProbes, refreshInterval } from '../limits.ts';
import { announcement, probe } from './messages.ts';
import type { Pacer, Urgency } from './pacer.ts';

interface AnnouncerHost {
  readonly clock: Clock;
  readonly random: Random;
  readonly schedule: Schedule;
  readonly pacer: Pacer;
  macOf(claim: Claim): number;
  transmit(claim: Claim, octets: Uint8Array, kind: 'announcement' | 'probe'): void;
  /** The last probe before a first claim had no answer. */
  probesSilent(claim: Claim): void;
}

/** The announcements of held addresses, and the probes before a first claim. */
export class Announcer {
  readonly #host: AnnouncerHost;

  constructor(host: AnnouncerHost) {
    this.#host = host;
  }

  /** Announces the address now and, by a schedule that gets slower, for as long as it is held. */
  begin(claim: Claim): void {
    this.stop(claim);
    this.#announce(claim, 'claim');
  }

  /** Announces a held address once more, because hosts may not have heard the earlier announcements. */
  again(claim: Claim): void {
    this.stop(claim);
    claim.round = announcementTimes.length - 1;
    this.#announce(claim, 'claim');
  }

  /** The same for the held addresses for which the peer is a candidate. */
  againTo(peer: PeerView, claims: Iterable<Claim>): void {
    for (const claim of claims) if (claim.state === 'owner' && claim.candidates.includes(peer)) this.again(claim);
  }

  /** The refresh interval of the entry has changed. An address that was claimed a moment ago takes the new one with its next announcement. */
  refreshAnew(claim: Claim): void {
    if (!answersClients(claim.state) || claim.round < announcementTimes.length) return;
    this.#host.schedule.clearAlarm(claim.alarms.transmission);
    this.#scheduleRefresh(claim, true);
  }

  /** Announces once, before everything that waits. */
  once(claim: Claim): void {
    const { pacer } = this.#host;
    for (const form of ['first', 'second'] as const) pacer.add('defence', () => this.#sendForm(claim, claim.generation, form));
  }

  /** Asks once whether a foreign host has the address. */
  ask(claim: Claim): void {
    this.#host.transmit(claim, probe(claim.address, this.#host.macOf(claim)), 'probe');
  }

  /** Probes for a foreign host. */
  probe(claim: Claim): void {
    this.stop(claim);
    this.#probe(claim);
  }

  /** Ends the schedule. Frames that wait are dropped. */
  stop(claim: Claim): void {
    claim.generation++;
    claim.round = 0;
    this.#host.schedule.clearAlarm(claim.alarms.transmission);
  }

  /** Called when the alarm of the schedule rings. */
  rang(claim: Claim): void {
    if (claim.state === 'probing') {
      if (claim.round < firstProbes) this.#probe(claim);
      else this.#host.probesSilent(claim);
    } else if (answersClients(claim.state)) {
      this.#announce(claim, claim.round < announcementTimes.length ? 'repeat' : 'refresh');
    }
  }

  #announce(claim: Claim, urgency: Urgency): void {
    const { pacer } = this.#host;
    const { generation } = claim;
    pacer.add(urgency, () => {
      if (!this.#sendForm(claim, generation, 'first')) return false;
      pacer.add(urgency, () => this.#sendForm(claim, generation, 'second'));
      this.#next(claim);
      return true;
    });
  }

  #next(claim: Claim): void {
    const { clock, schedule } = this.#host;
    const round = claim.round++;
    const [time, next] = [announcementTimes[round], announcementTimes[round + 1]];
    if (time !== undefined && next !== undefined) {
      schedule.setAlarm(claim.alarms.transmission, clock.now() + next - time);
      return;
    }
    this.#scheduleRefresh(claim, round < announcementTimes.length);
  }

  /** The first refresh comes at a random time, which spreads addresses that were claimed together. */
  #scheduleRefresh(claim: Claim, isFirst: boolean): void {
    const { clock, random, schedule } = this.#host;
    const interval = claim.entry.refreshInterval ?? refreshInterval;
    if (interval === 0) return;
    const wait = isFirst ? interval * (0.1 + 0.9 * random()) : interval;
    schedule.setAlarm(claim.alarms.transmission, clock.now() + wait);
  }

  #sendForm(claim: Claim, generation: number, form: 'first' | 'second'): boolean {
    if (claim.generation !== generation || !answersClients(claim.state)) return false;
    this.#host.transmit(claim, announcement(claim.address, this.#host.macOf(claim), form), 'announcement');
    claim.notes.lastAnnouncement = this.#host.clock.now();
    return true;
  }

  #probe(claim: Claim): void {
    const { clock, pacer, schedule } = this.#host;
    const { generation } = claim;
    pacer.add('claim', () => {
      if (claim.generation !== generation || claim.state !== 'probing') return false;
      this.#host.transmit(claim, probe(claim.address, this.#host.macOf(claim)), 'probe');
      claim.round++;
      schedule.setAlarm(claim.alarms.transmission, clock.now() + firstProbeInterval);
      return true;
    });
  }
}
