import type { Clock } from '../../system/clock.ts';
import type { Schedule } from '../../system/schedule.ts';
import type { Claim } from '../claim/claim.ts';
import type { PeerView } from '../election/peer-view.ts';
import { defencesInVain, defendInterval, defendMemory, disputeMemory, foreignDefendInterval, longestDefendInterval } from '../limits.ts';
import type { Announcer } from './announcer.ts';
import type { LinkView } from './link-view.ts';

export interface DefenderHost {
  readonly clock: Clock;
  readonly schedule: Schedule;
  readonly announcer: Announcer;
}

/** Announces a held address when another node or host claims it, ever more slowly while the other one insists. */
export class Defender {
  readonly #host: DefenderHost;

  constructor(host: DefenderHost) {
    this.#host = host;
  }

  /**
   * A worse candidate claims the address. If it insists, the two nodes rank each other differently, or it hears nothing. Then the node with
   * the higher MAC address gives way, which both sides decide alike. If it insists after that, it does not hear this one, which gives way: clients
   * would meet both.
   */
  defend(link: LinkView, claim: Claim, peer: PeerView): 'defended' | 'giveWay' {
    const { clock, schedule } = this.#host;
    const { defence } = claim;
    const now = clock.now();
    if (defence.peer !== peer || now - defence.last > defendMemory) {
      const isUnheard = defence.peer === peer && defence.isDisputed && now - defence.last < disputeMemory;
      if (isUnheard) {
        claim.above.add(peer);
        return 'giveWay';
      }
      Object.assign(defence, { peer, count: 0, next: -Infinity, interval: defendInterval, isDisputed: false, wasReported: false });
    }
    defence.last = now;
    // Decided only when it claims once more: a defence that comes later may find that it has given up.
    const isInVain = defence.count >= defencesInVain;
    if (isInVain && link.mac > peer.mac) {
      claim.above.add(peer);
      return 'giveWay';
    }
    defence.isDisputed = isInVain;
    if (now < defence.next) {
      schedule.setAlarm(claim.alarms.defence, defence.next);
      return 'defended';
    }
    this.#announce(claim);
    return 'defended';
  }

  /** Called when the alarm of a defence that came too early rings. */
  rang(claim: Claim): void {
    this.#announce(claim);
  }

  /** A foreign host claims the address: at most one announcement in 10 s (RFC 5227 2.4). */
  defendForeign(claim: Claim): void {
    const now = this.#host.clock.now();
    if (now < claim.nextForeignDefence) return;
    claim.nextForeignDefence = now + foreignDefendInterval;
    this.#host.announcer.once(claim);
  }

  #announce(claim: Claim): void {
    const { defence } = claim;
    defence.count++;
    defence.next = this.#host.clock.now() + defence.interval;
    defence.interval = Math.min(2 * defence.interval, longestDefendInterval);
    this.#host.announcer.once(claim);
  }
}
