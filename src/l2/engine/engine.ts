import type { Address } from '../../net/address.ts';
import type { Clock } from '../../system/clock.ts';
import type { Random } from '../../system/random.ts';
import { Alarm, Schedule } from '../../system/schedule.ts';
import { Claim } from '../claim/claim.ts';
import { answersClients, type ClaimEvent, type ClaimState } from '../claim/fsm.ts';
import { Counters } from '../counters.ts';
import type { PeerView } from '../election/peer-view.ts';
import { absentInterval, maximumAddresses, maximumLinks, settleTime, settleTimeAfterStall, watchdogInterval } from '../limits.ts';
import type { L2Event, L2Status } from '../status.ts';
import type { AddressChanges, AddressEntry, Link, PeerSession, Refusal, Table } from '../table.ts';
import type { Transport } from '../transport/transport.ts';
import { Announcer } from './announcer.ts';
import { ClaimRunner } from './claim-runner.ts';
import { Elections } from './elections.ts';
import { Inquiries } from './inquiries.ts';
import { LinkView, type LinkChange } from './link-view.ts';
import { Membership } from './membership.ts';
import { probe } from './messages.ts';
import { Pacer } from './pacer.ts';
import { linkProblem, readEntry } from './read-entry.ts';
import { Receiver } from './receiver.ts';
import { Responder } from './responder.ts';
import { addressStatus, linkStatus } from './status-of.ts';

interface EngineComponents {
  readonly clock: Clock;
  readonly random: Random;
  readonly transport: Transport;
}

/** All addresses of a node on all its segments. All that it does follows from a frame, the table, the state of a BFD session or the clock. */
export class Engine {
  readonly schedule: Schedule;
  readonly #components: EngineComponents;
  readonly #emit: (event: L2Event) => void;
  readonly #links = new Map<string, LinkView>();
  readonly #sessions = new Map<string, PeerSession>();
  readonly #counters = new Counters();
  readonly #pacer: Pacer;
  readonly #announcer: Announcer;
  readonly #inquiries: Inquiries;
  readonly #elections: Elections;
  readonly #runner: ClaimRunner;
  readonly #membership: Membership;
  #node = '';
  #addresses = 0;
  #stopping = false;
  #suspended = false;
  #isDraining = false;

  constructor(components: EngineComponents, emit: (event: L2Event) => void) {
    this.#components = components;
    this.#emit = emit;
    const { clock, random, transport } = components;
    const schedule = new Schedule(clock);
    this.schedule = schedule;
    this.#pacer = new Pacer(clock, schedule);
    this.#membership = new Membership(clock, schedule, transport);
    this.#announcer = new Announcer({
      clock,
      random,
      schedule,
      pacer: this.#pacer,
      macOf: (claim) => this.#links.get(claim.interface)?.mac ?? 0,
      transmit: (claim, octets, kind) => this.#transmit(claim.interface, octets, kind === 'announcement' ? 'announcements' : 'probes'),
      probesSilent: (claim) => this.#dispatchOf(claim, 'probesSilent'),
    });
    this.#inquiries = new Inquiries({
      clock,
      schedule,
      sendProbe: (claim) => {
        const link = this.#links.get(claim.interface);
        if (link !== undefined) this.#transmit(link.interface, probe(claim.address, link.mac), 'probes');
      },
    });
    this.#runner = new ClaimRunner({ clock, schedule, announcer: this.#announcer, emit });
    const mayClaim = (): boolean => !this.#stopping && !this.#suspended;
    this.#elections = new Elections({
      clock,
      random,
      schedule,
      inquiries: this.#inquiries,
      pacer: this.#pacer,
      get mayClaim() {
        return mayClaim();
      },
      dispatch: (link, claim, event) => this.#runner.dispatch(link, claim, event),
    });
    const mayAnswer = (): boolean => !this.#suspended && !this.#isDraining;
    const receiver = new Receiver({
      clock,
      counters: this.#counters,
      responder: new Responder(this.#counters),
      inquiries: this.#inquiries,
      elections: this.#elections,
      runner: this.#runner,
      get mayAnswer() {
        return mayAnswer();
      },
      linkOf: (networkInterface) => this.#links.get(networkInterface),
      isOwnMac: (mac) => this.#links.values().some((link) => link.mac === mac),
      transmit: (link, octets) => this.#transmit(link.interface, octets, undefined),
    });
    this.#listen(receiver);
    const forEachLink = (interval: number, act: (link: LinkView) => void): void =>
      schedule.every(interval, interval * (0.5 + random()), () => this.#links.forEach((link) => act(link)));
    forEachLink(watchdogInterval, (link) => this.#elections.watch(link));
    forEachLink(absentInterval, (link) => this.#elections.askAbsent(link));
  }

  /** Makes this the table, exactly. Returns what is refused; the rest is in force. */
  setTable({ node, links, addresses }: Table): Refusal[] {
    this.#node = node;
    const refused = this.#setLinks(links);
    const wanted = new Set(addresses.map((entry) => keyOf(entry)));
    const gone = [...this.#links.values()].flatMap((link) =>
      [...link.claims.values()].filter(({ entry }) => !wanted.has(keyOf(entry))).map(({ entry }) => entry),
    );
    return [...refused, ...this.changeAddresses({ set: addresses, remove: gone })];
  }

  /** Changes some addresses. Returns what is refused. */
  changeAddresses({ set, remove }: AddressChanges): Refusal[] {
    for (const entry of remove) {
      const link = this.#links.get(entry.interface);
      const read = readEntry({ ...entry, candidates: [] });
      const claim = 'key' in read ? link?.claims.get(read.key) : undefined;
      if (link !== undefined && claim !== undefined) this.#remove(link, claim);
    }
    return set.flatMap((entry) => this.#setEntry(entry) ?? []);
  }

  /** Takes the state of a BFD session. */
  sessionChanged(name: string, session: PeerSession): void {
    this.#sessions.set(name, session);
    for (const link of this.#links.values()) {
      for (const peer of link.peers.values()) if (peer.sessionName === name) this.#peerSession(link, peer, session);
    }
  }

  /** Announces the held addresses of an interface again: a bond has failed over, a virtual machine has moved. */
  announceAgain(networkInterface: string): void {
    const claims = this.#links.get(networkInterface)?.claims.values() ?? [];
    for (const claim of claims) if (claim.state === 'owner') this.#announcer.begin(claim);
  }

  /**
   * The thread did not run for so long, so its view is void. Call this before the frames that wait are read: they tell who owns what, but
   * they are too old to be answered. Call `drained` after them.
   */
  stalled(milliseconds: number): void {
    this.#counters.stalls++;
    this.#isDraining = true;
    this.#emit({ kind: 'stalled', at: this.#date(), milliseconds });
    this.#doubtEverything();
  }

  /** All frames that waited during a stall have been read. */
  drained(): void {
    this.#isDraining = false;
  }

  /** The main thread died or hangs: answers end. */
  suspend(): void {
    if (this.#suspended) return;
    this.#suspended = true;
    this.#emit({ kind: 'suspended', at: this.#date() });
    this.#inquiries.forgetAll();
    for (const link of this.#links.values()) for (const claim of link.claims.values()) this.#runner.dispatch(link, claim, 'doubt');
  }

  /** The main thread is back. */
  resume(): void {
    if (!this.#suspended) return;
    this.#suspended = false;
    this.#emit({ kind: 'resumed', at: this.#date() });
    this.#doubtEverything();
  }

  /** Begins to give up all addresses. Each is answered until another node announces it, for a second at most. */
  stop(): void {
    this.#stopping = true;
    this.#inquiries.forgetAll();
    for (const link of this.#links.values()) for (const claim of link.claims.values()) this.#runner.dispatch(link, claim, 'stop');
  }

  /** The state of an address. Undefined: it is not in the table. */
  stateOf(address: string, networkInterface: string): ClaimState | undefined {
    return this.#links.get(networkInterface)?.claims.get(address)?.state;
  }

  /** No address is answered. */
  get isIdle(): boolean {
    return !this.#links.values().some((link) => link.claims.values().some(({ state }) => answersClients(state)));
  }

  counters(): Counters {
    return structuredClone(this.#counters);
  }

  /** Returns the state of everything. `addresses`: only of these, as text, because a long list keeps the thread from answering. */
  status(addresses?: ReadonlySet<string>): L2Status {
    const { clock, transport } = this.#components;
    const now = clock.now();
    const dateOf = (at: number): Date => {
      const date = clock.date();
      date.setTime(date.getTime() - (now - at));
      return date;
    };
    const links = [...this.#links.values()];
    const wanted = (link: LinkView): readonly Claim[] =>
      addresses === undefined ? [...link.claims.values()] : [...addresses].flatMap((address) => link.claims.get(address) ?? []);
    return {
      links: links.map((link) => linkStatus(link, this.#membership.status(link.interface), transport, dateOf)),
      addresses: links.flatMap((link) => wanted(link).map((claim) => addressStatus(claim, now, dateOf))),
      counters: this.counters(),
      suspended: this.#suspended,
    };
  }

  close(): void {
    this.schedule.stop();
    for (const { interface: networkInterface } of this.#links.values()) this.#components.transport.close(networkInterface);
  }

  #listen(receiver: Receiver): void {
    this.#components.transport.listen({
      received: (networkInterface, octets) => receiver.receive(networkInterface, octets),
      reopened: (networkInterface) => this.#membership.rejoin(networkInterface),
      linkChanged: (networkInterface, news) => {
        const view = this.#links.get(networkInterface);
        if (view !== undefined) this.#react(view, view.takeNews(news));
      },
    });
  }

  #setLinks(links: readonly Link[]): Refusal[] {
    const refused: Refusal[] = [];
    const wanted = new Set(links.map((link) => link.interface));
    for (const link of this.#links.values()) if (!wanted.has(link.interface)) this.#closeLink(link);
    for (const link of links) {
      const isTooMany = !this.#links.has(link.interface) && this.#links.size >= maximumLinks;
      const message = isTooMany ? `there are ${maximumLinks} links already` : linkProblem(link);
      if (message === undefined) this.#setLink(link);
      else refused.push({ subject: link.interface, message });
    }
    return refused;
  }

  #setLink(link: Link): void {
    const { clock, transport } = this.#components;
    const present = this.#links.get(link.interface);
    const view = present ?? new LinkView(link.interface);
    this.#links.set(link.interface, view);
    const change = view.take(link, this.#sessions, clock.now());
    if (present === undefined || change.promiscuous) transport.open(link.interface, { promiscuous: view.promiscuous });
    if (present === undefined) this.#unsettle(view, settleTime, false);
    if (change.peers) {
      for (const claim of view.claims.values()) {
        this.#rank(view, claim);
        this.#runner.recognize(view, claim);
      }
    }
    if (present !== undefined) this.#react(view, change);
    this.#trySettle(view);
    if (change.peers && view.isSettled) this.#elections.evaluateAll(view, view.claims.values());
  }

  /** While the link had no carrier another node may have taken over. */
  #react(view: LinkView, { moved, carrierReturned }: LinkChange): void {
    if (carrierReturned) this.#doubt(view, settleTime, false);
    else if (moved) this.announceAgain(view.interface);
  }

  #closeLink(link: LinkView): void {
    for (const claim of link.claims.values()) this.#remove(link, claim);
    this.schedule.clearAlarm(link.settling);
    for (const name of link.sessionNames) this.#sessions.delete(name);
    this.#links.delete(link.interface);
    this.#components.transport.close(link.interface);
  }

  #setEntry(entry: AddressEntry): Refusal | undefined {
    const subject = `${entry.address} on ${entry.interface}`;
    const link = this.#links.get(entry.interface);
    if (link === undefined) return { subject, message: `there is no link ${entry.interface} in the table` };
    const read = readEntry(entry);
    if (!('key' in read)) return read;
    let claim = link.claims.get(read.key);
    if (claim === undefined) {
      if (this.#addresses >= maximumAddresses) return { subject, message: `there are ${maximumAddresses} entries already` };
      claim = this.#newClaim(link, read.key, read.address, entry);
    } else {
      const hasSameRanks = claim.entry.candidates.join(' ') === entry.candidates.join(' ');
      const hasSameInterval = claim.entry.refreshInterval === entry.refreshInterval;
      claim.entry = entry;
      if (!hasSameInterval) this.#announcer.refreshAnew(claim);
      if (hasSameRanks) return undefined;
    }
    this.#rank(link, claim);
    this.#elections.evaluate(link, claim);
    return undefined;
  }

  #newClaim(link: LinkView, key: string, address: Address, entry: AddressEntry): Claim {
    const claim = new Claim(key, address, entry, this.#components.clock.now(), (claim) => ({
      transmission: new Alarm(() => this.#announcer.rang(claim)),
      deadline: new Alarm(() => this.#dispatchOf(claim, 'deadline')),
      check: new Alarm(() => this.#elections.check(link, claim)),
      defence: new Alarm(() => this.#runner.defendLater(claim)),
    }));
    link.claims.set(key, claim);
    this.#addresses++;
    this.#membership.add(link.interface, address);
    return claim;
  }

  /** Finds the candidates of an address among the nodes of the segment. Nodes that the segment does not have take no part. */
  #rank(link: LinkView, claim: Claim): void {
    link.unindex(claim);
    claim.candidates = claim.entry.candidates.flatMap((node) => (node === this.#node ? 'self' : (link.peers.get(node) ?? [])));
    claim.above.clear();
    claim.deferredTo = undefined;
    if (claim.candidates.includes('self')) link.index(claim);
  }

  #remove(link: LinkView, claim: Claim): void {
    link.unindex(claim);
    link.claims.delete(claim.key);
    this.#addresses--;
    this.#inquiries.cancel(claim);
    this.#announcer.stop(claim);
    for (const alarm of Object.values(claim.alarms)) this.schedule.clearAlarm(alarm);
    this.#membership.remove(link.interface, claim.address);
    const { state } = claim;
    claim.state = 'standby';
    if (state !== 'standby') this.#runner.changed(claim, state, 'removed');
  }

  #peerSession(link: LinkView, peer: PeerView, session: PeerSession): void {
    const { session: before } = peer;
    const isChanged = peer.setSession(session, this.#components.clock.now());
    for (const claim of link.betterClaims.get(peer) ?? []) claim.silent.delete(peer);
    const gaveWay = before === session ? [] : [...link.claims.values()].filter((claim) => claim.forgetDispute(peer));
    const isolation = link.noteSession(before, session, this.#components.clock.now());
    if (isolation !== undefined) this.#emit({ kind: isolation, at: this.#date(), interface: link.interface });
    this.#trySettle(link);
    if (isChanged) this.#elections.evaluatePeer(link, peer);
    this.#elections.evaluateAll(link, gaveWay);
    // Both may own addresses, because they did not hear each other. Each learns of the other's by its announcement.
    if (session === 'Up' && before !== 'Up') this.#announcer.againTo(peer, link.claims.values());
  }

  #unsettle(link: LinkView, time: number, onlyTime: boolean): void {
    link.unsettle(this.#components.clock.now() + time, onlyTime);
    this.schedule.setAlarm(link.settling, link.settlesAt);
    link.onSettleTime = () => this.#trySettle(link);
  }

  #trySettle(link: LinkView): void {
    if (!link.settle(this.#components.clock.now())) return;
    this.schedule.clearAlarm(link.settling);
    this.#elections.evaluateAll(link, link.claims.values());
  }

  #doubtEverything(): void {
    this.#inquiries.forgetAll();
    for (const link of this.#links.values()) this.#doubt(link, settleTimeAfterStall, true);
  }

  /** Holds what this node owned for doubtful, and asks the others. */
  #doubt(link: LinkView, settleTime: number, onlyTime: boolean): void {
    this.#unsettle(link, settleTime, onlyTime);
    for (const claim of link.claims.values()) this.#runner.dispatch(link, claim, 'doubt');
    if (this.#stopping || this.#suspended) return;
    const doubtful = [...link.claims.values()].filter(({ state }) => state === 'doubtful');
    this.#elections.confirm(link, doubtful);
  }

  #dispatchOf(claim: Claim, event: ClaimEvent): void {
    const link = this.#links.get(claim.interface);
    if (link !== undefined) this.#runner.dispatch(link, claim, event);
  }

  #transmit(networkInterface: string, octets: Uint8Array, counter: 'announcements' | 'probes' | undefined): void {
    if (counter !== undefined) this.#counters[counter]++;
    if (!this.#components.transport.send(networkInterface, octets)) this.#counters.sendFailures++;
  }

  #date(): Date {
    return this.#components.clock.date();
  }
}

const keyOf = (entry: Pick<AddressEntry, 'address' | 'interface'>): string => `${entry.interface} ${entry.address}`;
