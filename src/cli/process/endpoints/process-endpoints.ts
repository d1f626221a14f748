import { defined } from '../../../lang/defined.ts';
import { retryingHttpListener, type ListenerComponents, type ListenerOptions } from '../../../agent/host/retrying-http-listener.ts';
import type { ClockSkew } from '../../../kube/client/clock-skew.ts';
import { History } from '../../../live/history.ts';
import { keptList } from '../../../live/kept-list.ts';
import { LiveApi } from '../../../live/live-api.ts';
import { LivePortHandler } from '../../../live/live-port.ts';
import { livePaths, type LiveKept, type LiveProcess } from '../../../live/contract.ts';
import { formatAddress } from '../../../net/address.ts';
import type { Snapshot } from '../../../model/store/snapshot.ts';
import type { RecordHealth } from '../../../sources/directory/records/record-health.ts';
import type { KeptObject, Source } from '../../../sources/source.ts';
import { listenLocal, type AnswerLocal } from '../../../system/http/local-socket.ts';
import { httpListening, type AnswerHttp, type ListenHttp } from '../../../system/http/http-listener.ts';
import { limits as httpLimits } from '../../../system/http/limits.ts';
import { RetryingListener } from '../../../system/http/retrying-listener.ts';
import type { Log } from '../../../system/log.ts';
import { ApiServerMetrics } from '../../../telemetry/api-server.ts';
import { Health } from '../../../telemetry/health.ts';
import { collectWithTimeout } from '../../../telemetry/collect-with-timeout.ts';
import type { Cancel, Clock } from '../../../system/clock.ts';
import { limits } from '../../../telemetry/limits.ts';
import { limits as liveLimits } from '../../../live/limits.ts';
import { metricsAnswer } from '../../../telemetry/metrics-answer.ts';
import { Metrics } from '../../../telemetry/metrics.ts';
import { registerProcessMetrics } from '../../../telemetry/process-metrics.ts';
import type { CommandContext } from '../../context/command-context.ts';
import type { LiveOptions } from '../../options/live-options.ts';
import { SocketRequestHandler } from './socket-request-handler.ts';
import { NodeListeners } from './node-listeners.ts';
import type { TelemetryOptions } from '../../options/telemetry-options.ts';
import { version } from '../../../model/objects/version.ts';

/** The HTTP endpoints of a process: metrics, health, and the live API. They serve until the process ends. */
export class ProcessEndpoints {
  readonly metrics: Metrics;
  /** Served at the Unix socket, and at the metrics port unless that is switched off. */
  readonly live: LiveApi;
  /** The record of changes that this process made to each Service and session since its start. */
  readonly history: History;
  /** The endpoints at the Unix socket, which only this host can reach. */
  readonly local: SocketRequestHandler;
  readonly health = new Health();
  readonly api: ApiServerMetrics;
  /** Starts a listener that shares the limits of this process on connections. */
  readonly listenHttp: ListenHttp;
  readonly #components: ListenerComponents;
  readonly #endProcessMetrics: Cancel;
  readonly #listeners: RetryingListener[] = [];
  /** Absent: metrics are not served at the addresses of a Node. */
  readonly #atNode: NodeListeners | undefined;
  readonly #socket: RetryingListener | undefined;

  constructor(
    { clock, nodejs }: Pick<CommandContext, 'clock' | 'nodejs'>,
    options: TelemetryOptions & LiveOptions & Pick<LiveProcess, 'command'>,
    log: Log,
    listenHttp?: ListenHttp,
  ) {
    this.metrics = new Metrics(collectWithTimeout({ clock, log }));
    this.listenHttp =
      listenHttp ?? httpListening(httpLimits, (cause) => this.metrics.add('herald_http_connections_ended_total', { cause }));
    this.#components = { listenHttp: this.listenHttp, clock, log };
    this.api = new ApiServerMetrics(this.metrics, clock);
    this.#endProcessMetrics = registerProcessMetrics(this.metrics, clock);
    this.metrics.set('herald_build_info', { version, nodejs }, 1);
    this.metrics.addCollector('health', ['herald_ready'], (put) => put('herald_ready', {}, this.health.ready ? 1 : 0));
    const { command, socket, live } = options;
    this.live = new LiveApi(clock, { command, version });
    this.history = new History(clock);
    this.live.addList(livePaths.history, this.history.list);
    this.local = new SocketRequestHandler(this.live);
    if (socket !== 'none') this.#socket = listenOnSocket({ clock, log }, socket, this.local.answer);
    const onPort = new LivePortHandler(this.live);
    const answer: AnswerHttp = (path, query) =>
      (live === 'metrics' ? onPort.answer(path, query) : undefined) ?? metricsAnswer(this.metrics, path);
    for (const place of options.healthAddress.places) this.#listeners.push(this.#listen((path) => this.health.answer(path), { place }));
    const { places, atNode: port } = options.metricsAddress;
    for (const place of places) this.#listeners.push(this.#listen(answer, { place }));
    if (port !== undefined) this.#atNode = new NodeListeners({ port, log, listen: (more) => this.#listen(answer, more) });
  }

  /**
   * Serves metrics at the addresses of the Node, if the options ask for it, and follows their changes. Returns a function that stops
   * following.
   */
  followNode(source: Pick<Source, 'snapshot' | 'onChange'>, node: string): () => void {
    const follow = (): void => this.#atNode?.replaceAddresses(source.snapshot.nodes.get(node)?.internalIPs.map(formatAddress) ?? []);
    follow();
    return source.onChange((changes) => {
      if (changes.some(({ kind, key }) => kind === 'Node' && key === node)) follow();
    });
  }

  /** Exposes how many objects and problems a source has read, and of which objects an earlier version is in force. */
  follow(source: Source): void {
    this.live.addList(
      livePaths.kept,
      keptList(() => source.kept().map(toldKept)),
    );
    const problems = { error: 0, warning: 0 };
    const count = (): void => {
      const all = source.problems();
      problems.error = all.filter(({ severity }) => severity === 'error').length;
      problems.warning = all.length - problems.error;
    };
    count();
    source.onProblem(count);
    this.metrics.addCollector('objects', ['herald_objects', 'herald_source_problems'], (put) => {
      for (const [kind, objects] of Object.entries(objectsOf(source.snapshot))) put('herald_objects', { kind }, objects.size);
      for (const severity of ['error', 'warning'] as const) put('herald_source_problems', { severity }, problems[severity]);
    });
  }

  /** Exposes how far the clock is from the API server's. No health check: a restart would not help, and routes must not go for it. */
  followClock(skew: ClockSkew): void {
    this.metrics.addCollector('clock', ['herald_clock_skew_seconds'], (put) => put('herald_clock_skew_seconds', {}, skew.seconds));
  }

  /** Exposes whether the records of a directory can be written. */
  followRecords(records: RecordHealth): void {
    this.live.followRecords(() => records.unwritten());
    this.health.addCheck({ name: 'records', ready: () => records.problem() });
    this.metrics.addCollector('records', ['herald_records_unwritten'], (put) => put('herald_records_unwritten', {}, records.waiting));
  }

  async close(): Promise<void> {
    this.#endProcessMetrics();
    await Promise.all([...this.#listeners.map((listener) => listener.close()), this.#atNode?.close(), this.#socket?.close()]);
  }

  #listen(answer: AnswerHttp, options: Pick<ListenerOptions, 'place' | 'after'>): RetryingListener {
    const { connections, headerBytes, answerMilliseconds, idleMilliseconds } = limits;
    const bounds = { connections, headerBytes, answerMilliseconds, idleMilliseconds };
    return retryingHttpListener(this.#components, { ...options, answer, bounds, onStatusChanged: () => undefined });
  }
}

function toldKept({ object, problem, since, inForce }: KeptObject): LiveKept {
  const slash = object.indexOf('/');
  const { file, line, column, field, message, fix } = problem;
  return {
    kind: object.slice(0, slash),
    name: object.slice(slash + 1),
    problem: { ...defined({ file, line, column, field }), message, fix },
    // oxlint-disable-next-line no-restricted-globals -- writing a date as text is pure
    since: new Date(since).toISOString(),
    ...defined({ inForce }),
  };
}

/** Listens on a Unix socket and tries again while the previous process holds it. The process works without its socket too. */
function listenOnSocket({ clock, log }: { readonly clock: Clock; readonly log: Log }, path: string, answer: AnswerLocal): RetryingListener {
  const { connections, headerBytes, requestMilliseconds, idleMilliseconds, retryMilliseconds } = liveLimits;
  return new RetryingListener(clock, {
    listen: () => listenLocal(path, answer, { connections, headerBytes, requestMilliseconds, idleMilliseconds }),
    retryMilliseconds,
    onProblemChanged: (problem) => {
      if (problem === undefined) log.info({ socket: path }, 'answers at its socket now');
      else log.warn({ socket: path, problem }, 'cannot answer at its socket; trying again (--socket sets the path)');
    },
  });
}

function objectsOf(snapshot: Snapshot): Readonly<Record<string, ReadonlyMap<string, unknown>>> {
  return {
    Service: snapshot.services,
    Node: snapshot.nodes,
    Namespace: snapshot.namespaces,
    IPAddressPool: snapshot.pools,
    BGPPeer: snapshot.peers,
    BGPAdvertisement: snapshot.advertisements,
    BFDProfile: snapshot.bfdProfiles,
    Community: snapshot.communities,
    ExternalIPPolicy: snapshot.externalIPPolicies,
    NodeState: snapshot.nodeStates,
  };
}
