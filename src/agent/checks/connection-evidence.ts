import { defined } from '../../lang/defined.ts';
import type { ConnectionLook } from '../../dataplane/conntrack/connection-watch.ts';
import type { Pair } from '../../dataplane/conntrack/flow-reader.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import { formatAddress } from '../../net/address.ts';
import { frontendKey, type Frontend } from '../../net/frontend.ts';
import type { ObservedConnection } from '../../net/observed-connection.ts';
import type { AnswerQuestion, LostAnswers, NoWay } from '../../net/endpoint-way.ts';
import { limits } from '../limits.ts';
import { answerKey } from './client-ways.ts';
import { chosenEndpoints, endpointText, isLimitedToNode, portKey, type CheckedFrontends, type CheckedPort } from './checked-frontends.ts';
import type { CountsFrom } from './renewed-routes.ts';
import type { FailedData } from './data-evidence.ts';
import { forgetOtherSources, noteAnswer, unanswered, unusualLull, type FrontendRecord } from './frontend-record.ts';
import { failuresNeeded, isOld, PairEvidence, type FailedConnections } from './pair-evidence.ts';

/** How an endpoint fails: it has no way, or connections to it do. */
export type FailureKind = NoWay['kind'] | FailedConnections | FailedData;

/** An endpoint that this node does not reach. */
export interface FailingEndpoint extends CheckedPort {
  readonly endpoint: string;
  readonly kind: FailureKind;
  /** Why there is no way. Absent: connections fail. */
  readonly way?: NoWay;
  /** Why the answers to the clients are lost. Absent: they are not, or it is not known. */
  readonly lost?: LostAnswers;
  /** All endpoints to which the node sends new connections for this port fail. */
  readonly areAll: boolean;
}

/** What is to be said of the connections of the last ten minutes. */
export interface Judgement {
  /** Keys of frontends, sorted. Those that are answered no longer, although connections came often, are left out. */
  readonly answered: readonly string[];
  readonly failing: readonly FailingEndpoint[];
}

/** What another look may change of a judgement. */
export interface Doubts {
  /** When a look would show that a frontend is answered no longer whose latest answer was rather old at the last look. Infinite: there is none. */
  readonly quietAt: number;
  /** Connections failed, or are answered no longer. */
  readonly areAwaited: boolean;
}

/** The evidence about one frontend. */
export interface FrontendEvidence {
  readonly service: ServiceKey;
  readonly key: string;
  readonly frontend: Frontend;
  /** When a connection of a client was last answered, also by an endpoint that has left since. Undefined: none was in the last ten minutes. */
  readonly answered: number | undefined;
  /** Milliseconds without an answer that are longer than usual: then connections stopped, or are not answered any more. */
  readonly unusual: number;
  readonly pairs: ReadonlyMap<string, PairEvidence>;
}

interface FoundPair {
  /** frontendKey */
  readonly key: string;
  readonly endpoint: string;
  readonly frontend: Frontend;
}

/**
 * Remembers what became of connections to the frontends that Herald forwards on this node. Evidence is forgotten after ten minutes, or when its
 * endpoint leaves the frontend.
 */
export class ConnectionEvidence {
  readonly #frontends: CheckedFrontends;
  /** By answerKey. */
  #lost: ReadonlyMap<string, LostAnswers> = new Map();
  /** The frontends whose answers the last judgement counts. */
  #counting: ReadonlySet<string> = new Set();
  /** By frontendKey. */
  readonly #records = new Map<string, FrontendRecord>();
  #doubts = noDoubts;
  #size = 0;
  /** By the address of the endpoint, as text. */
  #ways: ReadonlyMap<string, NoWay> = new Map();
  /** Endpoints to which connections of clients went in the last ten minutes. Computed anew every few seconds. */
  #known: { readonly at: number; readonly endpoints: ReadonlySet<string> } | undefined;

  constructor(frontends: CheckedFrontends) {
    this.#frontends = frontends;
  }

  /** Number of frontends and endpoints with evidence. */
  get size(): number {
    return this.#size;
  }

  /** Sets all endpoints without a way, by their addresses. */
  setWays(ways: ReadonlyMap<string, NoWay>): void {
    this.#ways = ways;
  }

  /** Sets the answers that certainly do not reach clients, by answerKey. */
  setLostAnswers(lost: ReadonlyMap<string, LostAnswers>): void {
    this.#lost = lost;
  }

  /** Returns the clients that did not complete their latest connections, with the endpoints that answered them. */
  unfinished(now: number): AnswerQuestion[] {
    const found = new Map<string, AnswerQuestion>();
    for (const { frontend, pairs } of this.evidence(now))
      for (const backend of chosenEndpoints(frontend))
        for (const client of pairs.get(endpointText(backend))?.unfinishedClients ?? [])
          found.set(answerKey({ client, endpoint: backend.address }), { client, endpoint: backend.address });
    return [...found.values()];
  }

  wayOf(endpoint: string): NoWay | undefined {
    return this.#ways.get(addressOf(endpoint));
  }

  /** True when connections of clients with this destination and endpoint were answered in the last ten minutes. */
  isAnswered(pair: Pair, now: number): boolean {
    const found = this.#find(pair);
    const evidence = found === undefined ? undefined : this.#records.get(found.key)?.pairs.get(found.endpoint);
    return evidence !== undefined && (!isOld(evidence.answeredClient, now) || evidence.last('used', now) !== undefined);
  }

  /** True when connections of clients to the endpoint were seen in the last ten minutes. */
  knowsClients(endpoint: string, now: number): boolean {
    if (this.#known === undefined || now - this.#known.at >= limits.knownEndpointsMilliseconds) {
      const pairs = [...this.#records.values()].flatMap((record) => [...record.pairs]);
      const endpoints = pairs.flatMap(([name, pair]) => (pair.isOwn || pair.isForgotten(now) ? [] : [name]));
      this.#known = { at: now, endpoints: new Set(endpoints) };
    }
    return this.#known.endpoints.has(endpoint);
  }

  /**
   * Takes connections, also those that the agent opened itself. Returns whether one of them failed whose endpoint is not known to fail.
   * `noticed`: now, or when the look began that saw them.
   */
  take(connections: Iterable<ObservedConnection>, now: number, noticed = now): boolean {
    let failed = false;
    const answers = new Map<FrontendRecord, number>();
    for (const connection of connections) {
      const found = this.#recordOf(connection, now);
      if (found === undefined) continue;
      const { record, pair } = found;
      pair.take(connection, noticed);
      const isAnswered = connection.outcome === 'answered' || connection.outcome === 'used';
      // A connection of our own goes to the endpoint, and not by the frontend.
      if (isAnswered && connection.own !== true) answers.set(record, Math.max(connection.at, answers.get(record) ?? connection.at));
      failed ||= !isAnswered && !pair.isFailing;
    }
    for (const [record, at] of answers) noteAnswer(record, at);
    return failed;
  }

  /** Forgets the connections. The ways stay. */
  clear(): void {
    this.#records.clear();
    this.#size = 0;
    this.#doubts = noDoubts;
  }

  /** Judges all evidence after the last look at connections, which would have seen those that were answered. */
  judge(look: Pick<ConnectionLook, 'began' | 'share'>, now: number, countsFrom: CountsFrom = () => Number.NEGATIVE_INFINITY): Judgement {
    this.#forget(now);
    const answered: string[] = [];
    const failures: Failures = new Map();
    let quietAt = Number.POSITIVE_INFINITY;
    let areAwaited = false;
    for (const { key, service, frontend, answered: at, unusual, pairs } of this.evidence(now)) {
      const quiet = at === undefined ? Number.POSITIVE_INFINITY : look.began - at;
      this.#noteQuiet(key, quiet);
      if (at !== undefined && quiet < unusual && at >= countsFrom(service, frontend)) {
        answered.push(key);
        if (quiet >= unusual / 2) quietAt = Math.min(quietAt, at + unusual);
      } else areAwaited ||= at !== undefined;
      const hasAnswered = [...pairs.values()].some(({ data }) => data.hasAnswered);
      for (const [endpoint, pair] of pairs) {
        const data = pair.data.failure(hasAnswered, now);
        if (data === undefined && pair.failure(Number.NEGATIVE_INFINITY, look, now) === undefined) continue;
        const port = this.#frontends.portOf(service, frontend);
        if (port === undefined) continue;
        const kind = pair.failure(this.#answeredAt(port, frontend, endpoint), look, now) ?? data;
        if (kind !== undefined)
          addFailure(failures, port, frontend.scope, { endpoint, kind, ...defined({ lost: this.#lostOf(kind, endpoint, pair) }) });
      }
    }
    this.#doubts = { quietAt, areAwaited: areAwaited || failures.size > 0 };
    this.#addWays(failures);
    this.#counting = new Set(answered);
    return { answered: answered.toSorted(), failing: this.#failing(failures) };
  }

  /** The doubts about the last judgement. */
  get doubts(): Doubts {
    return this.#doubts;
  }

  /** True when it would be news that a connection of the pair was answered that began at this time. */
  isAwaited(pair: Pair, at: number, now: number): boolean {
    const found = this.#find(pair);
    const record = found === undefined ? undefined : this.#records.get(found.key);
    if (found === undefined || record === undefined) return false;
    const evidence = record.pairs.get(found.endpoint);
    const refused = evidence?.last('refused', now);
    // The kernel reports refusals, a little later.
    if (refused !== undefined && (refused >= at || now - at < limits.refusalMilliseconds)) return false;
    return evidence?.isFailing === true || (!this.#counting.has(found.key) && !isOld(record.answered, now));
  }

  /** True when the last judgement counts the latest answer at the frontend, by frontendKey. */
  counts(frontend: string): boolean {
    return this.#counting.has(frontend);
  }

  /** Yields the evidence, by frontend, without endpoints that have left it. */
  *evidence(now: number): Iterable<FrontendEvidence> {
    for (const [key, record] of this.#records) {
      const found = this.#frontends.find(key);
      if (found === undefined) continue;
      forgetOtherSources(record, found.frontend);
      const { answered, pairs } = record;
      yield { ...found, key, answered: isOld(answered, now) ? undefined : answered, unusual: unusualLull(record), pairs };
    }
  }

  /** Finds the key of the frontend to which a connection was sent, and the endpoint as text, if it is one of the frontend. */
  #find({ destination, protocol, port, endpoint, endpointPort }: Pair): FoundPair | undefined {
    const text = endpointText({ address: endpoint, port: endpointPort });
    for (const match of [
      { kind: 'address', address: destination, protocol, port } as const,
      { kind: 'nodePort', family: destination.family, protocol, port } as const,
    ]) {
      const key = frontendKey(match);
      const found = this.#frontends.find(key);
      if (found === undefined) continue;
      const { frontend } = found;
      return this.#frontends.endpointsOf(frontend).has(text) ? { key, endpoint: text, frontend } : undefined;
    }
    return undefined;
  }

  #recordOf(connection: ObservedConnection, now: number): { readonly record: FrontendRecord; readonly pair: PairEvidence } | undefined {
    const found = this.#find(connection);
    if (found === undefined) return undefined;
    const { key, endpoint: text, frontend } = found;
    const record = this.#records.get(key) ?? { ...unanswered(), frontend, pairs: new Map() };
    forgetOtherSources(record, frontend);
    const known = record.pairs.get(text);
    if (known !== undefined) return { record, pair: known };
    if (this.#size >= limits.evidencePairs || this.#records.size >= limits.evidencePairs) this.#forget(now);
    if (this.#size >= limits.evidencePairs || this.#records.size >= limits.evidencePairs) return undefined;
    const pair = new PairEvidence();
    record.pairs.set(text, pair);
    this.#records.set(key, record);
    this.#size++;
    return { record, pair };
  }

  #noteQuiet(key: string, quiet: number): void {
    const record = this.#records.get(key);
    if (record !== undefined && Number.isFinite(quiet)) record.quiet = Math.max(record.quiet, quiet);
  }

  #forget(now: number): void {
    for (const [key, { answered, pairs }] of this.#records) {
      const found = this.#frontends.find(key);
      const endpoints = found === undefined ? undefined : this.#frontends.endpointsOf(found.frontend);
      for (const [endpoint, pair] of pairs) {
        if (endpoints?.has(endpoint) === true && !pair.isForgotten(now)) continue;
        pairs.delete(endpoint);
        this.#size--;
      }
      if (found === undefined || (pairs.size === 0 && isOld(answered, now))) this.#records.delete(key);
    }
  }

  /** Returns when an endpoint last answered a new connection by any frontend of the port in this scope: their packets go the same way. */
  #answeredAt(port: CheckedPort, { scope }: Frontend, endpoint: string): number {
    const times = this.#frontends
      .frontendsOf(port, scope)
      .map(({ match }) => this.#records.get(frontendKey(match))?.pairs.get(endpoint)?.answeredClient ?? Number.NEGATIVE_INFINITY);
    return Math.max(Number.NEGATIVE_INFINITY, ...times);
  }

  /** Clients may also forge their addresses, or give up. Only a route that leads elsewhere shows that answers are lost. */
  #lostOf(kind: FailureKind, endpoint: string, { unfinishedClients }: PairEvidence): LostAnswers | undefined {
    if (kind !== 'unfinished' || unfinishedClients.length < failuresNeeded) return undefined;
    const lost = unfinishedClients.map((client) => this.#lost.get(`${formatAddress(client)} ${addressOf(endpoint)}`));
    return lost.every((one) => one !== undefined) ? lost[0] : undefined;
  }

  #addWays(failures: Failures): void {
    if (this.#ways.size === 0) return;
    for (const { service, frontend } of this.#frontends.all()) {
      for (const backend of chosenEndpoints(frontend)) {
        const found = this.#ways.get(formatAddress(backend.address));
        const way = found?.kind === 'onOtherNode' && !isLimitedToNode(frontend) ? undefined : found;
        const port = way === undefined ? undefined : this.#frontends.portOf(service, frontend);
        if (way !== undefined && port !== undefined)
          addFailure(failures, port, frontend.scope, { endpoint: endpointText(backend), kind: way.kind, way });
      }
    }
  }

  #failing(failures: Failures): FailingEndpoint[] {
    return [...failures.values()].flatMap(({ port, external, internal }) => {
      const areAll = this.#areAll(port, external, internal);
      return [...new Map([...internal, ...external]).values()].map((failure) => ({ ...port, ...failure, areAll }));
    });
  }

  /** Judges external frontends where the port has some, because clients outside the cluster use them. */
  #areAll(port: CheckedPort, external: Failed, internal: Failed): boolean {
    const outside = this.#frontends.frontendsOf(port, 'external');
    const [frontends, failing] = outside.length > 0 ? [outside, external] : [this.#frontends.frontendsOf(port, 'internal'), internal];
    const chosen = new Set(frontends.flatMap((frontend) => chosenEndpoints(frontend).map(endpointText)));
    return chosen.size > 0 && [...chosen].every((endpoint) => isCertain(failing.get(endpoint)));
  }
}

const noDoubts: Doubts = { quietAt: Number.POSITIVE_INFINITY, areAwaited: false };

type Failure = Pick<FailingEndpoint, 'endpoint' | 'kind' | 'way' | 'lost'>;

type Failed = ReadonlyMap<string, Failure>;

/** True when clients are certainly not answered. */
const isCertain = (failure: Failure | undefined): boolean =>
  failure !== undefined && (!mayBeFine.has(failure.kind) || failure.lost !== undefined);

const mayBeFine: ReadonlySet<FailureKind> = new Set(['unfinished', 'onlyListens', 'largeUnacknowledged', 'unacknowledged']);

/** By port, then by scope and endpoint. */
type Failures = Map<
  string,
  { readonly port: CheckedPort; readonly external: Map<string, Failure>; readonly internal: Map<string, Failure> }
>;

/** The first of these that applies to an endpoint is reported. */
const kinds: readonly FailureKind[] = [
  'unroutable',
  'notOnLink',
  'onOtherNode',
  'dropped',
  'refused',
  'silent',
  'hangs',
  'largeUnacknowledged',
  'unfinished',
  'onlyListens',
  'unacknowledged',
];

function addFailure(failures: Failures, port: CheckedPort, scope: Frontend['scope'], failure: Failure): void {
  const key = portKey(port);
  const ofPort = failures.get(key) ?? { port, external: new Map<string, Failure>(), internal: new Map<string, Failure>() };
  failures.set(key, ofPort);
  const known = ofPort[scope].get(failure.endpoint);
  if (known === undefined || kinds.indexOf(failure.kind) < kinds.indexOf(known.kind)) ofPort[scope].set(failure.endpoint, failure);
}

/** Returns "10.244.1.10" of "10.244.1.10:8080". */
const addressOf = (endpoint: string): string => endpoint.slice(0, endpoint.lastIndexOf(':')).replaceAll(/[[\]]/g, '');
