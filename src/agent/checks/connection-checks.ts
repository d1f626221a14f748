import type { ConnectionWatch, WatchConnections } from '../../dataplane/conntrack/connection-watch.ts';
import type { Dataplane } from '../../dataplane/dataplane.ts';
import type { ChecksReport, NodeState } from '../../model/objects/node-state.ts';
import { reasonText } from '../../model/reasons.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import type { Address } from '../../net/address.ts';
import type { DroppingInterface, NoWay } from '../../net/endpoint-way.ts';
import type { ObservedConnection } from '../../net/observed-connection.ts';
import type { Cancel } from '../../system/clock.ts';
import { limits } from '../limits.ts';
import type { Plans } from '../reconcile/plans.ts';
import { CheckedFrontends } from './checked-frontends.ts';
import { checksReport } from './checks-report.ts';
import { ConnectionEvidence, type Judgement } from './connection-evidence.ts';
import type { CountsFrom } from './renewed-routes.ts';
import { EndpointChecks, type EndpointChecksComponents } from './endpoint-checks.ts';

export interface ConnectionChecksComponents extends EndpointChecksComponents {
  /** Absent: this process does not look at connections, and reports nothing about them. */
  readonly watchConnections?: WatchConnections;
  readonly dataplane: Pick<Dataplane, 'frontend'>;
}

interface ConnectionChecksOptions {
  readonly node: string;
  readonly snapshot: () => Snapshot;
  readonly plans: Pick<Plans, 'byService'>;
  /** Finds interfaces by which packets of clients for endpoints certainly do not leave. Absent: there are none. */
  readonly dropping?: () => Promise<readonly DroppingInterface[]>;
  /** True for an address of this host. Absent: they are not known. */
  readonly isOwn?: (address: Address) => boolean;
  /** Finds the interfaces by which packets of clients come. Absent: they are not known. */
  readonly uplinks?: () => Promise<Iterable<string>>;
  /** Reads from when on answers tell of now. Absent: all do. */
  readonly countsFrom?: () => CountsFrom;
  /** Called when the result of `reportPart` changed. */
  readonly onStatusChanged: () => void;
}

/** Figures for metrics. */
export interface CheckFigures {
  /** Time spent on looking at connections. */
  readonly seconds: number;
  readonly failingEndpoints: number;
  readonly answeredFrontends: number;
  readonly isBlind: boolean;
}

const nothing: Judgement = { answered: [], failing: [] };
/** Reasons that a line of the log names. */
const namedReasons = 3;

/**
 * Looks at what becomes of clients' connections through this node, as `HeraldConfig.checks` says, and reports which frontends were answered and
 * which endpoints the node does not reach.
 */
export class ConnectionChecks {
  readonly #components: ConnectionChecksComponents;
  readonly #options: ConnectionChecksOptions;
  readonly evidence: ConnectionEvidence;
  readonly #endpoints: EndpointChecks;
  #watch: ConnectionWatch | undefined;
  /** When the last look began that was completed. */
  #lookBegan = Number.NEGATIVE_INFINITY;
  #share = 1;
  #blind: string | undefined;
  #judgement = nothing;
  #report: ChecksReport | undefined;
  #text = '';
  #cancelJudgement: Cancel | undefined;
  #milliseconds = 0;
  #stopped = false;

  constructor(components: ConnectionChecksComponents, options: ConnectionChecksOptions) {
    this.#components = components;
    this.#options = options;
    const frontends = new CheckedFrontends({ ...components, ...options });
    this.evidence = new ConnectionEvidence(frontends);
    this.#endpoints = new EndpointChecks(components, {
      ...options,
      frontends,
      evidence: this.evidence,
      onWays: (ways) => this.setWays(ways),
      onLostAnswers: (lost) => {
        this.evidence.setLostAnswers(lost);
        this.#judgeSoon();
      },
      onOwn: (connections) => this.takeOwn(connections),
    });
  }

  get figures(): CheckFigures {
    const { answered, failing } = this.#judgement;
    return {
      seconds: this.#milliseconds / 1000,
      failingEndpoints: new Set(failing.map(({ service, endpoint }) => `${service} ${endpoint}`)).size,
      answeredFrontends: answered.length,
      isBlind: this.#blind !== undefined,
    };
  }

  /** Returns the part of the node's report. */
  reportPart(): Pick<NodeState, 'checks'> {
    return this.#report === undefined ? {} : { checks: this.#report };
  }

  /** Begins or ends looking. Called after each commit: Services, their endpoints or HeraldConfig may have changed. */
  reconcile(): void {
    const { watchConnections } = this.#components;
    if (watchConnections === undefined || this.#stopped) return;
    const { services, checks } = this.#options.snapshot().config;
    const isWanted = checks !== 'off' && services !== 'none' && this.#options.plans.byService.size > 0;
    if (!isWanted) this.#end();
    this.#endpoints.reconcile(isWanted ? checks : 'off');
    if (isWanted && this.#watch === undefined) this.#watch = watchConnections(this.#handlers());
    // Endpoints that just appeared come first.
    else this.#watch?.lookSoon();
    if (this.#report?.mode === checks) this.#judgeSoon();
    else this.#judge();
  }

  /** Called when a session has changed, or its router has asked for all routes. */
  sessionsChanged(): void {
    if (this.#watch !== undefined) this.#judgeSoon();
  }

  /** Returns the interfaces by which packets for IPv4 endpoints leave, those of most endpoints first. */
  endpointInterfaces(): readonly string[] {
    return this.#endpoints.interfaces;
  }

  /** Called when `dropping` may have changed. */
  droppingChanged(): void {
    this.#endpoints.droppingChanged();
  }

  /** Takes the results of connections that the agent opened itself. */
  takeOwn(connections: readonly ObservedConnection[]): void {
    const now = this.#components.clock.now();
    const failed = this.evidence.take(connections, now);
    // Then no look will show whether clients are answered.
    if (this.#blind !== undefined || this.#watch === undefined) this.#lookBegan = now;
    else if (failed) this.#watch.lookSoon();
    this.#judgeSoon();
  }

  /** Sets the endpoints to which no packet leaves, or whose address nobody on a link has, by address as text. */
  setWays(ways: ReadonlyMap<string, NoWay>): void {
    this.evidence.setWays(ways);
    this.#judgeSoon();
  }

  stop(): void {
    this.#stopped = true;
    this.#watch?.stop();
    this.#endpoints.stop();
    this.#cancelJudgement?.();
  }

  #end(): void {
    this.#watch?.stop();
    this.#watch = undefined;
    this.#blind = undefined;
    this.evidence.clear();
  }

  #handlers(): Parameters<WatchConnections>[0] {
    const { clock } = this.#components;
    return {
      ended: (connections) => {
        // A look shows whether others are answered. Where none are, it would show nothing new.
        if (this.#measured(() => this.evidence.take(connections, clock.now()))) this.#watch?.lookSoon();
      },
      looked: ({ connections, began, share }) =>
        this.#measured(() => {
          this.evidence.take(connections, clock.now(), began);
          if (connections.some(({ outcome }) => outcome === 'unfinished')) this.#endpoints.clientsChanged();
          this.#lookBegan = began;
          this.#share = share;
          this.#judge();
        }),
      blind: (why) => {
        this.#blind = why;
        this.#judgeSoon();
      },
      spent: (milliseconds) => (this.#milliseconds += milliseconds),
      isAnswered: (pair) => this.evidence.isAnswered(pair, clock.now()),
      isAwaited: (pair, at) => this.evidence.isAwaited(pair, at, clock.now()),
    };
  }

  #judgeSoon(): void {
    if (this.#components.watchConnections === undefined || this.#stopped) return;
    this.#cancelJudgement ??= this.#components.clock.after(limits.judgePauseMilliseconds, () => this.#measured(() => this.#judge()));
  }

  #judge(): void {
    this.#cancelJudgement?.();
    this.#cancelJudgement = undefined;
    const { clock, log } = this.#components;
    const { checks: mode } = this.#options.snapshot().config;
    const before = JSON.stringify(this.#report?.failing ?? []);
    this.#judgement =
      mode === 'off'
        ? nothing
        : this.evidence.judge({ began: this.#lookBegan, share: this.#share }, clock.now(), this.#options.countsFrom?.());
    const { quietAt, areAwaited } = this.evidence.doubts;
    this.#watch?.awaitConnections(mode !== 'off' && areAwaited);
    if (mode !== 'off' && Number.isFinite(quietAt)) this.#watch?.lookSoon(quietAt);
    const report = checksReport(this.#options.node, mode, this.#blind, this.#judgement);
    const text = JSON.stringify(report);
    if (text === this.#text) return;
    this.#text = text;
    this.#report = report;
    if (JSON.stringify(report.failing) !== before) {
      const failing = report.failing.slice(0, namedReasons).map(({ service, reason: why }) => `${service}: ${reasonText(why)}`);
      log.warn({ ports: report.failing.length, failing }, 'the endpoints that this node does not reach changed');
    }
    this.#options.onStatusChanged();
  }

  #measured<T>(work: () => T): T {
    const { clock } = this.#components;
    const began = clock.now();
    const result = work();
    this.#milliseconds += clock.now() - began;
    return result;
  }
}
