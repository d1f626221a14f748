import type { Claim } from '../claim/claim.ts';
import { answersClients, step, type ClaimEffect, type ClaimEvent } from '../claim/fsm.ts';
import type { PeerView } from '../election/peer-view.ts';
import { conflictReportInterval, foreignAnswerTime, foreignDefendInterval, leavingTime, yieldCheckTime } from '../limits.ts';
import type { L2Event } from '../status.ts';
import { formatMac, type Mac } from '../wire/mac.ts';
import { Defender, type DefenderHost } from './defender.ts';
import type { LinkView } from './link-view.ts';

interface ClaimRunnerHost extends DefenderHost {
  readonly emit: (event: L2Event) => void;
}

/** The sender of a frame, and its node if it is one of ours. */
export interface Sender {
  readonly mac: Mac;
  readonly peer?: PeerView;
}

/** Runs the state machine of each address and carries out its effects. */
export class ClaimRunner {
  readonly #host: ClaimRunnerHost;
  readonly #defender: Defender;

  constructor(host: ClaimRunnerHost) {
    this.#host = host;
    this.#defender = new Defender(host);
  }

  /** Called when the alarm of a defence that came too early rings. */
  defendLater(claim: Claim): void {
    if (claim.state === 'owner' || claim.state === 'keeping') this.#defender.rang(claim);
  }

  /** Runs the state machine. `from`: the sender of the frame that caused the event. */
  dispatch(link: LinkView, claim: Claim, event: ClaimEvent, from?: Sender): void {
    const { state, effects } = step(claim.state, event);
    if (state !== claim.state) this.#enter(claim, state, event, from);
    for (const effect of effects) this.#effect(link, claim, effect, from);
  }

  /** Ends a conflict with a host that turned out to be a node of ours, which the table did not list when it was heard. */
  recognize(link: LinkView, claim: Claim): void {
    const { lastConflict } = claim.notes;
    if (lastConflict === undefined || !link.peersByMac.has(lastConflict.mac)) return;
    claim.notes.lastConflict = undefined;
    claim.foreignHeard = -Infinity;
    if (claim.state === 'conflict') this.dispatch(link, claim, 'deadline');
    else if (claim.isContested) this.#endContest(claim);
  }

  #enter(claim: Claim, state: Claim['state'], event: ClaimEvent, from: Sender | undefined): void {
    const before = claim.state;
    claim.state = state;
    const now = this.#host.clock.now();
    claim.notes.since = now;
    claim.notes.cause = event;
    if (state === 'owner') claim.notes.claims++;
    this.#host.announcer.stop(claim);
    this.#host.schedule.clearAlarm(claim.alarms.deadline);
    this.#host.schedule.clearAlarm(claim.alarms.defence);
    if (state === 'leaving') this.#host.schedule.setAlarm(claim.alarms.deadline, now + leavingTime);
    claim.isContested &&= isHeld(state);
    if (state === 'conflict' || claim.isContested) this.#host.schedule.setAlarm(claim.alarms.deadline, now + foreignDefendInterval);
    this.changed(claim, before, event, from);
  }

  #effect(link: LinkView, claim: Claim, effect: ClaimEffect, from: Sender | undefined): void {
    const { clock } = this.#host;
    switch (effect) {
      case 'announce':
        return this.#host.announcer.begin(claim);
      case 'probe':
        return this.#host.announcer.probe(claim);
      case 'checkLater':
        return this.#host.schedule.setAlarm(claim.alarms.check, clock.now() + yieldCheckTime);
      case 'defend':
        if (from?.peer === undefined) return;
        this.#afterDefence(link, claim, this.#defender.defend(link, claim, from.peer));
        return;
      case 'defendForeign':
        return this.#defender.defendForeign(claim);
      case 'report':
        return this.#report(claim, from?.mac ?? 0);
      case 'lookAgain':
        return this.#lookAgain(claim);
    }
  }

  #report(claim: Claim, mac: Mac): void {
    const now = this.#host.clock.now();
    const { lastConflict } = claim.notes;
    const isRepeated = now - claim.lastReport < (lastConflict?.mac === mac ? foreignDefendInterval : conflictReportInterval);
    claim.notes.lastConflict = { at: now, mac };
    claim.isContested = isHeld(claim.state);
    if (claim.state === 'conflict' || claim.isContested) this.#host.schedule.setAlarm(claim.alarms.deadline, now + foreignDefendInterval);
    if (isRepeated) return;
    claim.lastReport = now;
    this.#host.emit({ kind: 'conflict', at: this.#host.clock.date(), address: claim.key, interface: claim.interface, mac: formatMac(mac) });
  }

  /** Asks a foreign host that has been silent whether it still has the address, and reports it when it does not answer. */
  #lookAgain(claim: Claim): void {
    const { clock, schedule, announcer } = this.#host;
    if (claim.lookedAt > (claim.notes.lastConflict?.at ?? -Infinity)) return this.#endContest(claim);
    claim.lookedAt = clock.now();
    announcer.ask(claim);
    schedule.setAlarm(claim.alarms.deadline, clock.now() + foreignAnswerTime);
  }

  #endContest(claim: Claim): void {
    const { clock, schedule, emit } = this.#host;
    claim.isContested = false;
    schedule.clearAlarm(claim.alarms.deadline);
    emit({ kind: 'conflictEnded', at: clock.date(), address: claim.key, interface: claim.interface });
  }

  #afterDefence(link: LinkView, claim: Claim, result: 'defended' | 'giveWay'): void {
    const { defence } = claim;
    const { peer } = defence;
    if (peer === undefined) return;
    if (defence.isDisputed && !defence.wasReported) {
      defence.wasReported = true;
      this.#host.emit({ kind: 'disputed', at: this.#host.clock.date(), address: claim.key, interface: claim.interface, node: peer.node });
    }
    if (result === 'giveWay') this.dispatch(link, claim, 'heardBetter', { mac: peer.mac, peer });
  }

  /** Reports a change of state. */
  changed(claim: Claim, from: Claim['state'], cause: ClaimEvent | 'removed', sender?: Sender): void {
    this.#host.emit({
      kind: 'changed',
      at: this.#host.clock.date(),
      address: claim.key,
      interface: claim.interface,
      from,
      to: claim.state,
      cause,
      ...(sender === undefined ? {} : { mac: formatMac(sender.mac) }),
      ...(sender?.peer === undefined ? {} : { node: sender.peer.node }),
      ...(claim.state === 'owner' && !answersClients(from) ? previousOwner(claim) : {}),
    });
  }
}

function previousOwner({ notes: { heardFrom }, deferredTo }: Claim): Pick<Extract<L2Event, { kind: 'changed' }>, 'previous'> {
  const peer = heardFrom?.peer ?? deferredTo;
  if (peer === undefined) return {};
  return { previous: { node: peer.node, ...(peer.session === undefined ? {} : { session: peer.session }) } };
}

/** The state in which this node holds an address for good. */
const isHeld = (state: Claim['state']): boolean => state === 'owner' || state === 'keeping';
