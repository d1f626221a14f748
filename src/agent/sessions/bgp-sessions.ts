import { defined } from '../../lang/defined.ts';
import {
  changedFields,
  fieldClass,
  PeerOptionsError,
  resolveOptions,
  SpeakerError,
  type DampingStatus,
  type Peer,
  type PeerOptions,
  type PeerStatus,
  type PerFamily,
  type ResolvedOptions,
  type Route,
  type Speaker,
  type StopOptions,
  type NextHops,
} from '../../bgp/index.ts';
import { asSent } from '../../decisions/announcement/last-resort.ts';
import { peersOfNode, sessionWarning, type BfdIntent, type PeerSession, type SessionIntent } from '../../decisions/announcement/peers.ts';
import type { RouteIntent } from '../../decisions/announcement/route.ts';
import type { LiveSession } from '../../live/contract.ts';
import type { SessionFamily, SessionStatus } from '../../model/objects/node-state.ts';
import { fix, reason as reasonOf, says, type Reason, type ReasonCode } from '../../model/reasons.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { formatAddress, type Address } from '../../net/address.ts';
import type { Log } from '../../system/log.ts';
import { limits } from '../limits.ts';
import type { AgentHistory } from '../live/agent-history.ts';
import { BfdMonitor, type BfdMonitorComponents } from './bfd-monitor.ts';
import type { PeerRouteChanges, AnnouncedRoutes } from '../reconcile/announced-routes.ts';

export interface BgpSessionsComponents extends BfdMonitorComponents {
  readonly speaker: Speaker;
  /** Absent: what becomes of sessions is in the log only. */
  readonly sessionHistory?: Pick<AgentHistory, 'recordSessionsOf' | 'peerRemoved'>;
}

export interface BgpSessionsOptions {
  /** The speaker listens, on every address and port 179, while there is a passive peer. Default: it listens where it was told at its making. */
  readonly listenForPassivePeers?: boolean;
}

/** What is wrong with a session that runs all the same, and is tried again while it is down. */
const warnings: ReadonlySet<ReasonCode> = new Set<ReasonCode>(['BFDProfileMissing', 'PeerPasswordGone']);

/** The BGP sessions of this node: which there are comes from the decisions, what they say from the route table. */
export class BgpSessions {
  readonly #speaker: Speaker;
  readonly #routes: AnnouncedRoutes;
  readonly #log: Log;
  readonly #history: BgpSessionsComponents['sessionHistory'];
  readonly #paths: BfdMonitor;
  readonly #listenForPassivePeers: boolean;
  readonly #peers = new Map<string, Peer>();
  /** The passwords of sessions, for those whose Secret goes away. */
  readonly #passwords = new Map<string, string>();
  /** How the ways to peers are watched. */
  readonly #watched = new Map<string, BfdIntent>();
  /** Peers that only wait for a connection. */
  #passive: ReadonlySet<string> = new Set();
  /** Routers are to use our routes only where they have no other. */
  #isLastResort = false;
  /** Peers without a session, or whose session runs on with its earlier settings, and why. */
  #refused = new Map<string, { readonly address: string; readonly localASN: number; readonly reason: Reason }>();

  /** `news`: what `status` says is another than before. */
  constructor(
    components: BgpSessionsComponents,
    routes: AnnouncedRoutes,
    news: () => void,
    { listenForPassivePeers = false }: BgpSessionsOptions = {},
  ) {
    const { speaker, log, sessionHistory } = components;
    this.#speaker = speaker;
    this.#history = sessionHistory;
    this.#listenForPassivePeers = listenForPassivePeers;
    this.#routes = routes;
    this.#log = log;
    this.#paths = new BfdMonitor(components, { peer: (name) => this.#peers.get(name), onStatusChanged: news });
    // A peer without an address has been found, or a session has ended that is to wait for BFD before the next one.
    speaker.onChange(() => {
      this.#paths.refresh();
      news();
    });
  }

  /** Ends and changes sessions, whatever the data plane does: who is shut down must not wait for it. */
  updateExisting(snapshot: Snapshot, node: string): void {
    this.#reconcile(snapshot, node, false);
  }

  /** Starts sessions too; each begins with everything it should announce already in its RIB. */
  reconcile(snapshot: Snapshot, node: string): void {
    this.#reconcile(snapshot, node, true);
  }

  /** From now on every route is the last resort of its router. False: no router has a route of ours. */
  startGracefulShutdown(): boolean {
    const isHeard = [...this.#peers.values()].some((peer) => {
      const { state, prefixesAdvertised } = peer.status();
      return state === 'Established' && prefixesAdvertised.ipv4 + prefixesAdvertised.ipv6 > 0;
    });
    this.#isLastResort = true;
    for (const [name, peer] of this.#peers) peer.routes.set(this.#allRoutes(name));
    return isHeard;
  }

  /**
   * BFD says AdminDown before this process is silent, and after the connections are closed: FRR 8 takes AdminDown for a loss (RFC 5882 3.2
   * says otherwise), but not any more once it holds our routes over a restart.
   */
  async stop(options: StopOptions): Promise<void> {
    await this.#speaker.stop(options);
    await this.#paths.stop();
  }

  /** Prefixes that a session cannot carry, and why, by name of the peer. */
  unsupportedRoutes(): { readonly peer: string; readonly prefix: string; readonly why: string }[] {
    return [...this.#peers.values()].flatMap((peer) => {
      const { name, notPossible, state } = peer.status();
      return state === 'Established' ? notPossible.map(({ prefix, why }) => ({ peer: name, prefix, why })) : [];
    });
  }

  /** Ports at which passive peers are waited for, with what they are for. Others are called by us. */
  passivePorts(): [number, string][] {
    if (this.#passive.size === 0) return [];
    return this.#speaker.listening().sockets.map(({ port }) => [port, 'BGP of passive peers']);
  }

  #reconcile(snapshot: Snapshot, node: string, begin: boolean): void {
    const refused = new Map<string, { address: string; localASN: number; reason: Reason }>();
    const wanted = new Map<string, SessionIntent>();
    for (const { peer, result } of peersOfNode(snapshot, node)) {
      const { session, problem } = 'session' in result ? this.#withSecretAndProfile(result, peer) : { problem: result.reason };
      if (session !== undefined) wanted.set(peer, session);
      if (problem !== undefined) refused.set(peer, { ...addressOf(snapshot, peer), reason: problem });
    }
    for (const name of this.#peers.keys()) {
      if (wanted.has(name)) continue;
      this.#peers.delete(name);
      this.#passwords.delete(name);
      this.#watched.delete(name);
      this.#speaker.removePeer(name, 'peer removed from the configuration');
      this.#history?.peerRemoved(name, 'the BGPPeer is gone, or is for other nodes');
    }
    this.#passive = new Set([...wanted].flatMap(([name, { passive }]) => (passive ? [name] : [])));
    if (this.#listenForPassivePeers && (begin || this.#passive.size === 0)) this.#speaker.listen(this.#passive.size === 0 ? [] : [{}]);
    for (const [name, session] of wanted) {
      try {
        if (begin || this.#peers.has(name)) this.#set(name, session);
      } catch (error) {
        if (!isRefusal(error)) throw error;
        refused.set(name, { ...addressOf(snapshot, name), reason: reasonOf('PeerNotPossible', { peer: name, problem: inWords(error) }) });
      }
    }
    this.#paths.reconcile([...wanted.values()].filter(({ peer }) => this.#peers.has(peer)));
    for (const [peer, { reason }] of refused) {
      if (this.#refused.get(peer)?.reason.code === reason.code) continue;
      const message = this.#peers.has(peer) ? 'the session runs on with its earlier settings' : 'no session with the peer';
      this.#log.warn({ peer, reason: says(reason), fix: fix(reason) }, message);
    }
    this.#refused = refused;
  }

  /** Tells the peers what changed. Withdrawals and announcements of one call leave together. */
  applyRouteChanges(changes: ReadonlyMap<string, PeerRouteChanges>): void {
    for (const [name, { announce, withdraw }] of changes) {
      this.#peers.get(name)?.routes.update({ announce: announce.map((route) => this.#asSent(route)), withdraw });
    }
  }

  status(): SessionStatus[] {
    const deaf = this.#speaker.listening().sockets.find(({ lastError }) => lastError !== undefined);
    const running = [...this.#peers.values()].map((peer): SessionStatus => {
      const {
        name,
        address,
        interface: networkInterface,
        state,
        since,
        localAsn,
        peerAsn,
        negotiated,
        prefixesAdvertised,
        prefixesReceived,
        lastError,
        damping,
      } = peer.status();
      const refusal = this.#refused.get(name)?.reason ?? this.#paths.problem(name);
      const bfd = this.#paths.status(name);
      const waitsInVain = deaf !== undefined && state !== 'Established' && this.#passive.has(name);
      const inVain = waitsInVain ? `cannot listen on port ${deaf.port}: ${deaf.lastError}` : undefined;
      const downBecause = state === 'Established' ? undefined : (inVain ?? lastError);
      // A warning is told by whoever decides again; why the session is down, only by the session.
      const isWarning = refusal !== undefined && downBecause !== undefined && warnings.has(refusal.code);
      const problem = refusal === undefined || isWarning ? (inVain ?? lastError) : says(refusal);
      return {
        peer: name,
        address: address === '' ? unnumberedOn(networkInterface) : address,
        ...defined({ interface: networkInterface }),
        state,
        since: since.toISOString(),
        localASN: localAsn,
        peerASN: peerAsn,
        prefixesSent: prefixesAdvertised.ipv4 + prefixesAdvertised.ipv6,
        ...(negotiated === undefined ? {} : { families: familiesOf(negotiated, prefixesAdvertised, prefixesReceived) }),
        ...defined({ lastError: problem }),
        ...dampingOf(damping),
        ...defined({ bfd }),
      };
    });
    const refused = [...this.#refused]
      .filter(([peer]) => !this.#peers.has(peer))
      .map(([peer, { address, localASN, reason }]): SessionStatus => ({
        peer,
        address,
        state: 'Idle',
        since: '',
        localASN,
        peerASN: 0,
        prefixesSent: 0,
        lastError: says(reason),
      }));
    return [...running, ...refused].toSorted((a, b) => (a.peer < b.peer ? -1 : 1));
  }

  /** Those there is a session with, or is to be one. */
  get peers(): ReadonlyMap<string, Peer> {
    return this.#peers;
  }

  /** As `status`, with what only whoever asks this process needs to know. */
  live(): LiveSession[] {
    return this.status().map((session) => {
      const capabilities = this.#peers.get(session.peer)?.status().capabilities;
      return capabilities === undefined ? session : { ...session, capabilities };
    });
  }

  #withSecretAndProfile(result: PeerSession, peer: string): { readonly session?: SessionIntent; readonly problem?: Reason } {
    const found = this.#withPassword(result, peer);
    if (found.session === undefined || result.missingProfile === undefined) return found;
    const bfd = this.#watched.get(peer);
    // A session whose BFDProfile is gone is watched on as it was: to stop would be AdminDown, for which FRR 8 closes BGP (RFC 5882 3.2 says otherwise).
    if (bfd !== undefined) return { ...found, session: { ...found.session, bfd } };
    // One that is up is the last without BFD: PathWatch has it wait before the next. None begins.
    if (!found.session.bfdStrict || this.#peers.has(peer)) return found;
    return { problem: reasonOf('StrictBFDProfileMissing', { peer, profile: result.missingProfile }) };
  }

  /** A session whose Secret is gone runs on with its password, unless that went with the process that knew it. */
  #withPassword(result: PeerSession, peer: string): { readonly session?: SessionIntent; readonly problem?: Reason } {
    const { session, passwordGone } = result;
    const warning = sessionWarning(peer, result);
    if (passwordGone === undefined) return { session, ...defined({ problem: warning }) };
    const password = this.#passwords.get(session.peer);
    if (password === undefined) return { problem: reasonOf('PeerPasswordMissing', passwordGone) };
    return { session: { ...session, password }, problem: reasonOf('PeerPasswordGone', passwordGone) };
  }

  #allRoutes(peer: string): Route[] {
    return this.#routes.allRoutes(peer).map((route) => this.#asSent(route));
  }

  #asSent(route: RouteIntent): Route {
    return speakerRoute(this.#isLastResort ? { ...route, lastResort: true } : route);
  }

  #set(name: string, session: SessionIntent): void {
    if (session.bfd === undefined) this.#watched.delete(name);
    else this.#watched.set(name, session.bfd);
    if (session.password === undefined) this.#passwords.delete(name);
    else this.#passwords.set(name, session.password);
    const present = this.#peers.get(name);
    if (present !== undefined) {
      present.reconfigure(peerOptions(session));
      return;
    }
    // The session starts in a later turn of the event loop, so its first burst is everything it has to say.
    const peer = this.#speaker.addPeer(peerOptions(session));
    this.#history?.recordSessionsOf(peer);
    peer.routes.set(this.#allRoutes(name));
    this.#peers.set(name, peer);
  }
}

/** Errors of one peer, which leave the others alone. */
function isRefusal(error: unknown): error is PeerOptionsError | SpeakerError {
  return error instanceof PeerOptionsError || (error instanceof SpeakerError && error.code === 'ERR_BGP_TOO_MANY_PEERS');
}

/** How a session takes a change of its settings; undefined: none differs. */
export function sessionChange(
  before: SessionIntent,
  after: SessionIntent,
): { readonly change: 'reset' | 'live'; readonly fields: readonly string[] } | undefined {
  const [old, next] = [optionsOrRefusal(before), optionsOrRefusal(after)];
  // What the speaker refuses leaves the session as it is; from a refusal there is only a start.
  if (next instanceof PeerOptionsError) return undefined;
  if (old instanceof PeerOptionsError) return { change: 'reset', fields: [old.field] };
  const fields = changedFields(old, next);
  const resets = fields.some((field) => fieldClass[field] === 'reset' || fieldClass[field] === 'start');
  const all = [...fields, ...changesOfBfd(before, after)];
  return all.length === 0 ? undefined : { change: resets ? 'reset' : 'live', fields: all };
}

/** None of them ends a session that is up: intervals are agreed upon anew, and strictness is for the next session. */
function changesOfBfd(before: SessionIntent, after: SessionIntent): readonly string[] {
  const hasProfileChanged = JSON.stringify(before.bfd) !== JSON.stringify(after.bfd);
  return [...(hasProfileChanged ? ['bfdProfile'] : []), ...(before.bfdStrict === after.bfdStrict ? [] : ['bfdStrict'])];
}

function optionsOrRefusal(session: SessionIntent): ResolvedOptions | PeerOptionsError {
  try {
    return resolveOptions(peerOptions(session));
  } catch (error) {
    if (error instanceof PeerOptionsError) return error;
    throw error;
  }
}

function peerOptions(session: SessionIntent): PeerOptions {
  return {
    name: session.peer,
    port: session.peerPort,
    localAsn: session.localASN,
    peerAsn: session.peerASN,
    routerId: session.routerID,
    holdTime: session.holdTimeSeconds,
    openHoldTime: limits.openHoldSeconds,
    families: session.families,
    ebgpMultiHop: session.ebgpMultiHop,
    passive: session.passive,
    flapDamping: session.flapDamping,
    adminDown: session.adminDown,
    // Without a hold time there are no keepalives (RFC 4271 4.4).
    ...(session.keepaliveTimeSeconds === 0 ? {} : { keepaliveTime: session.keepaliveTimeSeconds }),
    ...defined({ connectRetryTime: session.connectTimeSeconds, sourceAddress: session.sourceAddress }),
    ...(session.otherNextHop === undefined ? {} : { nextHop: nextHopOf(session.otherNextHop) }),
    ...defined({ address: session.peerAddress, interface: session.interface, ttlSecurityHops: session.ttlSecurityHops }),
    ...(session.gracefulRestart ? { gracefulRestart: {} } : {}),
    ...defined({ password: session.password, shutdownMessage: session.shutdownMessage }),
  };
}

function nextHopOf(address: Address): NextHops {
  return address.family === 4 ? { ipv4: address } : { ipv6: address };
}

function speakerRoute(route: RouteIntent): Route {
  const { prefix, communities, localPref, med, asPathPrepend } = asSent(route);
  return {
    prefix,
    communities,
    asPathPrepend,
    ...defined({ localPref, med }),
  };
}

function addressOf(snapshot: Snapshot, peer: string): { address: string; localASN: number } {
  const object = snapshot.peers.get(peer);
  if (object === undefined) return { address: '', localASN: 0 };
  const { peerAddress, interface: networkInterface, myASN, localASN = myASN } = object;
  return { address: peerAddress === undefined ? unnumberedOn(networkInterface) : formatAddress(peerAddress), localASN };
}

/** What goes either way in a session that is up. */
function familiesOf({ families }: NonNullable<PeerStatus['negotiated']>, sent: PerFamily, received: PerFamily): SessionFamily[] {
  return families.map((family) => {
    const of = family === 4 ? 'ipv4' : 'ipv6';
    return { family: `IPv${family}`, sent: sent[of], received: received[of] };
  });
}

/** A session without flaps says nothing of them. */
function dampingOf({ penalty, flapsInLastHour, until }: DampingStatus): Pick<SessionStatus, 'damping'> {
  if (flapsInLastHour === 0) return {};
  return { damping: { penalty, flapsInLastHour, ...(until === undefined ? {} : { until: until.toISOString() }) } };
}

const unnumberedOn = (networkInterface: string | undefined): string =>
  networkInterface === undefined ? '' : `unnumbered on ${networkInterface}`;

/** What the speaker refuses, for the person who can also change how the agent is started. */
function inWords(error: PeerOptionsError | SpeakerError): string {
  return error.code === 'ERR_BGP_PASSIVE_UNSUPPORTED'
    ? `passive: the agent of this node was started with --bgp-listen none, so the peer could never connect`
    : error.message;
}
