import {
  PeerGroupError,
  PeerOptionsError,
  SpeakerError,
  type Peer,
  type PerFamily,
  type Route,
  type Speaker,
  type StopOptions,
} from '../../bgp/index.ts';
import { defined } from '../../lang/defined.ts';
import { ownAddress, withNextHopOnLink, withSourceOfInterface } from '../../decisions/announcement/peer-link.ts';
import { peersOfNode, type SessionIntent } from '../../decisions/announcement/peers.ts';
import { ownSpeakers, type OwnSpeakers } from '../../decisions/announcement/sessions/contending-path.ts';
import { sessionFacts, type SessionFacts } from '../../decisions/announcement/sessions/session-facts.ts';
import type { RouteIntent } from '../../decisions/announcement/route.ts';
import type { LiveSession } from '../../live/contract.ts';
import type { SessionStatus } from '../../model/objects/node-state.ts';
import { remedyText, reason as reasonOf, reasonText, type Reason } from '../../model/reasons.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import type { Host, HostInterface } from '../../system/host.ts';
import type { Log } from '../../system/log.ts';
import type { AgentHistory } from '../live/agent-history.ts';
import type { AnnouncedRoutes, PeerRouteChanges } from '../reconcile/announced-routes.ts';
import { BfdMonitor, type BfdMonitorComponents } from './bfd-monitor.ts';
import { RetainedSettings } from './retained-settings.ts';
import {
  configuredPeer,
  refusedStatus,
  sessionStatus,
  unsupportedRoutesOf,
  contendedRoutesOf,
  type RefusedPeer,
  type UnsupportedRoute,
} from './session-status.ts';
import { DynamicNeighbours } from './dynamic-neighbours.ts';
import { peerOptions, speakerRoute } from './speaker-input.ts';

export interface BgpSessionsComponents extends BfdMonitorComponents {
  readonly speaker: Speaker;
  /** Absent: events of sessions are only logged. */
  readonly sessionHistory?: Pick<AgentHistory, 'recordSessionsOf' | 'peerRemoved'>;
  /** Absent: nothing is known of this host's interfaces. */
  readonly host?: Pick<Host, 'interfaces' | 'allInterfaces'>;
  /** Returns the number of routes of a peer that are in the kernel. Absent: none are. */
  readonly installedRoutes?: (peer: string) => PerFamily;
}

export interface BgpSessionsOptions {
  /** True: the speaker listens on port 179 of every address while there is a passive peer. Default: where its options say. */
  readonly listenForPassivePeers?: boolean;
}

/** The BGP sessions of this node. The decisions say which sessions there are, `AnnouncedRoutes` says which routes they send. */
export class BgpSessions {
  readonly #speaker: Speaker;
  readonly #routes: AnnouncedRoutes;
  readonly #log: Log;
  readonly #clock: BgpSessionsComponents['clock'];
  readonly #history: BgpSessionsComponents['sessionHistory'];
  readonly #bfd: BfdMonitor;
  readonly #installedRoutes: (peer: string) => PerFamily;
  readonly #listenForPassivePeers: boolean;
  readonly #retained = new RetainedSettings();
  readonly #peers = new Map<string, Peer>();
  readonly #dynamic: DynamicNeighbours;
  /** The decided sessions with dynamic neighbours. */
  #dynamicIntents: readonly SessionIntent[] = [];
  /** Peers of `#peers` that are administratively down. */
  readonly #shutDown = new Set<string>();
  /** Peers that connect to us, and the VRFs that they do it in (undefined: in none). We never connect to them. */
  #passive: ReadonlyMap<string, string | undefined> = new Map();
  /** True after `startGracefulShutdown`: routers use our routes only when they have no other. */
  #isLastResort = false;
  /** By name of the peer, like `#refused`. */
  #facts: ReadonlyMap<string, SessionFacts> = new Map();
  #ours: OwnSpeakers | undefined;
  #refused: ReadonlyMap<string, RefusedPeer> = new Map();
  /** Why routers may not reach next hops, by name of the peer. */
  #nextHops: ReadonlyMap<string, Reason> = new Map();
  readonly #interfaces: () => readonly HostInterface[];
  readonly #allInterfaces: () => readonly HostInterface[];
  /** The interfaces of the last decision, as text. */
  #decidedFor = '';

  /** `onStatusChanged` is called when the result of `status` changed. */
  constructor(
    components: BgpSessionsComponents,
    routes: AnnouncedRoutes,
    onStatusChanged: () => void,
    { listenForPassivePeers = false }: BgpSessionsOptions = {},
  ) {
    const { speaker, log, clock, host, sessionHistory, installedRoutes = () => ({ ipv4: 0, ipv6: 0 }) } = components;
    this.#speaker = speaker;
    this.#interfaces = () => host?.interfaces() ?? [];
    this.#allInterfaces = () => host?.allInterfaces() ?? [];
    this.#history = sessionHistory;
    this.#installedRoutes = installedRoutes;
    this.#listenForPassivePeers = listenForPassivePeers;
    this.#routes = routes;
    this.#log = log;
    this.#clock = clock;
    this.#bfd = new BfdMonitor(components, { peer: (name) => this.#peers.get(name), onStatusChanged });
    this.#dynamic = new DynamicNeighbours(speaker, {
      allRoutes: (peer) => this.#allRoutes(peer),
      joined: (member) => sessionHistory?.recordSessionsOf(member),
    });
    // The speaker may have found a peer that has no configured address, or ended a session whose successor must wait for BFD.
    speaker.onChange(() => {
      this.#bfd.refresh();
      onStatusChanged();
    });
  }

  /** Sessions that exist, whether established or not, by name of the peer. */
  get peers(): ReadonlyMap<string, Peer> {
    return this.#peers;
  }

  /** Like `peers`, with one established member for each BGPPeer with dynamic neighbours: all members have the same routes. */
  get senders(): ReadonlyMap<string, Peer> {
    const senders = new Map(this.#peers);
    for (const name of this.#dynamic.names()) {
      const member = this.#dynamic.members(name).find((one) => one.status().state === 'Established');
      if (member !== undefined) senders.set(name, member);
    }
    return senders;
  }

  /** Changes and ends existing sessions. Needs no data plane, so that a session that must end does not wait for it. */
  updateExisting(snapshot: Snapshot, node: string): void {
    this.#reconcile(snapshot, node, 'existing');
  }

  /** Changes and ends existing sessions and starts new ones. A new session has all its routes before it opens. */
  reconcile(snapshot: Snapshot, node: string): void {
    this.#reconcile(snapshot, node, 'all');
  }

  /** Decides again if the addresses of this host have changed: next hops depend on them. */
  hostChecked(snapshot: Snapshot, node: string): void {
    if (JSON.stringify(this.#allInterfaces()) !== this.#decidedFor) this.updateExisting(snapshot, node);
  }

  /** Announces every route as the routers' last resort (GRACEFUL_SHUTDOWN, RFC 8326). Returns false when no router has a route of ours. */
  startGracefulShutdown(): boolean {
    const isAnnouncing = [...this.senders.values()].some((peer) => {
      const { state, prefixesAdvertised } = peer.status();
      return state === 'Established' && prefixesAdvertised.ipv4 + prefixesAdvertised.ipv6 > 0;
    });
    this.#isLastResort = true;
    for (const [name, peer] of this.#peers) peer.routes.set(this.#allRoutes(name));
    for (const name of this.#dynamic.names()) for (const peer of this.#dynamic.members(name)) peer.routes.set(this.#allRoutes(name));
    return isAnnouncing;
  }

  /**
   * Ends all sessions. BFD sends AdminDown before this process goes silent but after the connections are closed: FRR 8 takes AdminDown for
   * a loss of the path (RFC 5882 3.2 says otherwise), though no longer once it holds our routes over a restart.
   */
  async stop(options: StopOptions): Promise<void> {
    await this.#speaker.stop(options);
    await this.#bfd.stop();
  }

  /** Sends changed routes to the peers. The withdrawals and announcements of one call leave together. */
  applyRouteChanges(changes: ReadonlyMap<string, PeerRouteChanges>): void {
    for (const [name, { announce, withdraw }] of changes) {
      const update = { announce: announce.map((route) => this.#speakerRoute(route)), withdraw };
      this.#peers.get(name)?.routes.update(update);
      for (const member of this.#dynamic.members(name)) member.routes.update(update);
    }
  }

  /** Returns the prefixes that an established session cannot carry, or for which its router has another path, and why. */
  unsupportedRoutes(): UnsupportedRoute[] {
    return [...this.senders].flatMap(([name, peer]) => {
      const [status, facts] = [peer.status(), this.#facts.get(name)];
      return [...unsupportedRoutesOf(status, facts), ...contendedRoutesOf(peer, status, facts, this.#ours)];
    });
  }

  /** Returns the ports that accept connections of passive peers, each with its use. Empty without passive peers. */
  passivePorts(): [number, string][] {
    if (this.#passive.size === 0) return [];
    return this.#speaker.listening().sockets.map(({ port }) => [port, 'BGP of passive peers']);
  }

  /** Returns the status of every peer of this node, sorted by name, including peers without a session. */
  status(): SessionStatus[] {
    const failedSockets = this.#speaker.listening().sockets.filter(({ lastError }) => lastError !== undefined);
    const running = [...this.#peers].map(([name, peer]) => {
      const [status, facts] = [peer.status(), this.#facts.get(name)];
      return sessionStatus(status, {
        refusal: this.#refused.get(name)?.reason ?? this.#bfd.problem(name),
        failedSocket: this.#passive.has(name) ? failedSockets.find(({ vrf }) => vrf === this.#passive.get(name)) : undefined,
        bfd: this.#bfd.status(name),
        facts,
        nextHop: this.#nextHops.get(name),
        installed: this.#installedRoutes(name),
        contended: contendedRoutesOf(peer, status, facts, this.#ours)[0]?.reason,
        now: this.#clock.date().getTime(),
      });
    });
    const dynamic = this.#dynamicIntents.flatMap((session) => {
      const condition = {
        refusal: this.#refused.get(session.peer)?.reason,
        failedSocket: failedSockets.find(({ vrf }) => vrf === session.vrf),
        facts: this.#facts.get(session.peer),
      };
      return this.#dynamic.status(session, condition) ?? [];
    });
    const refused = [...this.#refused]
      .filter(([name]) => !this.#peers.has(name) && !this.#dynamic.has(name))
      .map(([name, peer]) => refusedStatus(name, peer));
    return [...running, ...dynamic, ...refused].toSorted((a, b) => (a.peer < b.peer ? -1 : 1));
  }

  /** Returns `status` with details that only the live API serves. */
  live(): LiveSession[] {
    return this.status().map((session) => {
      const status = this.#peers.get(session.peer)?.status();
      if (status === undefined) return session;
      const { capabilities, received } = status;
      return { ...session, capabilities, ...(received === undefined ? {} : { refusedRoutes: received.refused }) };
    });
  }

  #reconcile(snapshot: Snapshot, node: string, scope: 'existing' | 'all'): void {
    const { wanted, refused } = this.#decide(snapshot, node);
    this.#facts = factsOf(snapshot, node, wanted);
    this.#ours = ownSpeakers(snapshot);
    for (const name of this.#peers.keys())
      if (wanted.get(name)?.dynamicNeighbors !== undefined || !wanted.has(name)) this.#removePeer(name);
    for (const name of this.#dynamic.names()) if (wanted.get(name)?.dynamicNeighbors === undefined) this.#dynamic.remove(name);
    this.#dynamicIntents = [...wanted.values()].filter(({ dynamicNeighbors }) => dynamicNeighbors !== undefined);
    this.#passive = new Map([...wanted].flatMap(([name, { passive, vrf }]) => (passive ? [[name, vrf] as const] : [])));
    if (this.#listenForPassivePeers && (scope === 'all' || this.#passive.size === 0))
      this.#speaker.listen([...new Set(this.#passive.values())].map((vrf) => defined({ vrf })));
    for (const [name, session] of wanted) {
      try {
        if (scope === 'all' || this.#peers.has(name) || this.#dynamic.has(name)) this.#addOrReconfigure(name, session);
      } catch (error) {
        if (!isRefusal(error)) throw error;
        const keeps = (this.#peers.has(name) || this.#dynamic.has(name)) && !this.#shutDown.has(name);
        const reason = reasonOf('PeerNotPossible', { peer: name, ...refusalOf(error, session), keeps });
        refused.set(name, { ...configuredPeer(snapshot, name), reason });
      }
    }
    this.#bfd.reconcile([...wanted.values()].filter(({ peer }) => this.#peers.has(peer)));
    this.#logNewRefusals(refused);
    this.#refused = refused;
  }

  #decide(snapshot: Snapshot, node: string): { readonly wanted: Map<string, SessionIntent>; readonly refused: Map<string, RefusedPeer> } {
    const wanted = new Map<string, SessionIntent>();
    const refused = new Map<string, RefusedPeer>();
    const nextHops = new Map<string, Reason>();
    const interfaces = this.#interfaces();
    const all = this.#allInterfaces();
    const internalIPs = snapshot.nodes.get(node)?.internalIPs ?? [];
    for (const { peer, result } of peersOfNode(snapshot, node)) {
      const { session: decided, problem } =
        'session' in result
          ? this.#retained.resolve(result, peer, this.#peers.has(peer) || this.#dynamic.has(peer))
          : { problem: result.reason };
      const sourced = decided && withSourceOfInterface(decided, all, node, internalIPs);
      const own = decided && ownAddress(decided, interfaces, node);
      const impossible = own ?? (sourced !== undefined && 'reason' in sourced ? sourced.reason : undefined);
      const because = impossible ?? problem;
      if (because !== undefined) refused.set(peer, { ...configuredPeer(snapshot, peer), reason: because });
      if (sourced === undefined || 'reason' in sourced || own !== undefined) continue;
      const chosen = withNextHopOnLink(sourced.session, interfaces, node);
      wanted.set(peer, chosen.session);
      if (chosen.warning !== undefined) nextHops.set(peer, chosen.warning);
    }
    this.#nextHops = nextHops;
    this.#decidedFor = JSON.stringify(all);
    return { wanted, refused };
  }

  #addOrReconfigure(name: string, session: SessionIntent): void {
    this.#retained.retain(session);
    if (session.dynamicNeighbors !== undefined) {
      this.#dynamic.reconcile(session, this.#clock.date());
      return;
    }
    const present = this.#peers.get(name);
    if (present !== undefined) {
      present.reconfigure(peerOptions(session));
      this.#markShutDown(session);
      return;
    }
    // The session starts in a later turn of the event loop, so its first burst carries all its routes.
    const peer = this.#speaker.addPeer(peerOptions(session));
    this.#history?.recordSessionsOf(peer);
    peer.routes.set(this.#allRoutes(name));
    this.#peers.set(name, peer);
    this.#markShutDown(session);
  }

  #markShutDown({ peer, adminDown }: SessionIntent): void {
    if (adminDown) this.#shutDown.add(peer);
    else this.#shutDown.delete(peer);
  }

  #removePeer(name: string): void {
    this.#peers.delete(name);
    this.#shutDown.delete(name);
    this.#retained.forgetPeer(name);
    this.#speaker.removePeer(name, 'peer removed from the configuration');
    this.#history?.peerRemoved(name, 'the BGPPeer is gone, or is for other nodes');
  }

  #logNewRefusals(refused: ReadonlyMap<string, RefusedPeer>): void {
    for (const [peer, { reason }] of refused) {
      if (this.#refused.get(peer)?.reason.code === reason.code) continue;
      const message = this.#peers.has(peer) ? 'the session keeps its earlier settings' : 'no session with the peer';
      this.#log.warn({ peer, reason: reasonText(reason), fix: remedyText(reason) }, message);
    }
  }

  #allRoutes(peer: string): Route[] {
    return this.#routes.allRoutes(peer).map((route) => this.#speakerRoute(route));
  }

  #speakerRoute(route: RouteIntent): Route {
    return speakerRoute(this.#isLastResort ? { ...route, lastResort: true } : route);
  }
}

function factsOf(snapshot: Snapshot, nodeName: string, wanted: ReadonlyMap<string, SessionIntent>): Map<string, SessionFacts> {
  const node = snapshot.nodes.get(nodeName);
  const facts = [...wanted].flatMap(([name, { sourceAddress }]) => {
    const peer = snapshot.peers.get(name);
    return peer === undefined || node === undefined
      ? []
      : [[name, sessionFacts({ ...peer, ...defined({ sourceAddress }) }, node)] as const];
  });
  return new Map(facts);
}

/** True for an error that concerns one peer only. The other peers continue. */
function isRefusal(error: unknown): error is PeerOptionsError | PeerGroupError | SpeakerError {
  return (
    error instanceof PeerOptionsError ||
    error instanceof PeerGroupError ||
    (error instanceof SpeakerError && error.code === 'ERR_BGP_TOO_MANY_PEERS')
  );
}

/** Words the speaker's refusal for an operator, who can also change how the agent is started. */
function refusalOf(
  { code, message }: PeerOptionsError | PeerGroupError | SpeakerError,
  { peer, vrf }: SessionIntent,
): { readonly problem: string; readonly remedy?: string } {
  if (code === 'ERR_BGP_PASSIVE_UNSUPPORTED') {
    if (vrf !== undefined) {
      return {
        problem: `it has passive: true, but the agent of this node was started with --bgp-listen, which listens in no VRF, so the router could never connect in the VRF ${vrf}`,
        remedy: `set passive: false in BGPPeer "${peer}", or start the agent without --bgp-listen`,
      };
    }
    return {
      problem: 'it has passive: true, but the agent of this node was started with --bgp-listen none, so the router could never connect',
      remedy: `set passive: false in BGPPeer "${peer}", or start the agent without --bgp-listen none`,
    };
  }
  if (code === 'ERR_BGP_TOO_MANY_PEERS') return { problem: message, remedy: 'let nodeSelectors of fewer BGPPeers match the node' };
  return { problem: message };
}
