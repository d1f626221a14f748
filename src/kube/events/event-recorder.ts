import { FifoSet } from '../../lang/fifo-set.ts';
import type { ObjectEvent } from '../../model/objects/object-event.ts';
import { sleep, type Cancel, type Clock } from '../../system/clock.ts';
import type { Log } from '../../system/log.ts';
import type { Random } from '../../system/random.ts';
import { TokenBucket } from '../../lang/token-bucket.ts';
import { BackOff } from '../../system/back-off.ts';
import { retryDelays } from '../reflector/retry-delays.ts';
import type { KubeClient } from '../client/client.ts';
import { KubeError, undefinedOn, type KubeErrorCode } from '../error.ts';
import { limits } from '../limits.ts';
import { eventManifest, eventName, eventNamespace, seriesManifest, type EventReporter, type EventSeries } from './event-object.ts';
import { LruMap } from './lru-map.ts';

interface EventRecorderComponents {
  /** A client that writes only while we lead. */
  readonly client: Pick<KubeClient, 'write'>;
  /** True while many requests of more importance are under way: Events then take little of the API server. Absent: never. */
  readonly isBusy?: () => boolean;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** Why an Event was never written. `queue`: too many waited. `budget`: the object used its budget. `leading`: another process leads. */
type EventLoss = 'queue' | 'budget' | 'leading' | 'refused' | 'unreachable';

interface Recorded {
  readonly event: ObjectEvent;
  readonly name: string;
  readonly at: Date;
  series: EventSeries | undefined;
  /** The count of the series that was written. */
  written: number;
}

/**
 * Writes Events (events.k8s.io/v1) in the background. Recording never waits and never fails: an Event is a courtesy, and lost ones are
 * counted. A repeated Event becomes a series of the first one, by client-go's rules: the second time is written at once, then every half
 * hour, and at the end, after six quiet minutes. Each object has a budget, and so do all together, a small one while more important requests
 * are under way; queue and caches are bounded. Warnings go first.
 */
export class EventRecorder {
  readonly #components: EventRecorderComponents;
  readonly #reporter: EventReporter;
  readonly #series = new LruMap<string, Recorded>(limits.eventSeries);
  /** Budget of one object, with client-go's sizes. A flapping object must not fill the API server. */
  readonly #budgets = new LruMap<string, TokenBucket>(limits.eventObjects);
  /** Budget of all objects: something that affects ten thousand Services at once must not keep the API server from more important work. */
  readonly #rate = new TokenBucket({ burst: limits.eventRateBurst, refillMilliseconds: limits.eventRateMilliseconds });
  /** The same while more important requests are under way. */
  readonly #busyRate = new TokenBucket({ burst: 1, refillMilliseconds: limits.eventBusyRateMilliseconds });
  readonly #warnings = new FifoSet<Recorded>();
  readonly #others = new FifoSet<Recorded>();
  readonly #lost = new Map<EventLoss, number>();
  readonly #backOff: BackOff;
  readonly #stop = new AbortController();
  /** Events that are being written. */
  readonly #atWork = new Set<Recorded>();
  readonly #waiting: (() => void)[] = [];
  #scheduled = false;
  #cancelSweep: Cancel | undefined;
  #cancelPause: Cancel | undefined;
  #refreshed = 0;
  #saidLost = Number.NEGATIVE_INFINITY;

  constructor(components: EventRecorderComponents, reporter: EventReporter) {
    this.#components = components;
    this.#reporter = reporter;
    this.#backOff = new BackOff(components.random, retryDelays);
  }

  /** Lost Events by cause. */
  get lost(): ReadonlyMap<EventLoss, number> {
    return this.#lost;
  }

  record(event: ObjectEvent): void {
    if (this.#stop.signal.aborted) return;
    const { clock, random } = this.#components;
    const at = clock.date();
    const key = keyOf(event);
    const before = this.#series.get(key);
    if (before !== undefined) {
      const isSecond = before.series === undefined;
      before.series = { count: (before.series?.count ?? 1) + 1, lastObserved: at };
      if (isSecond) this.#enqueue(before);
      return;
    }
    if (!this.#budgetOf(objectOf(event)).take(clock.now())) return this.#lose('budget');
    const recorded: Recorded = { event, name: eventName(event, at, random), at, series: undefined, written: 0 };
    if (!this.#enqueue(recorded)) return;
    this.#series.set(key, recorded);
    this.#sweepLater();
  }

  /** Resolves when nothing is being written and nothing may be written now. */
  async idle(): Promise<void> {
    while (this.#scheduled || this.#atWork.size > 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  /** Finishes the Events that are being written; the others are lost. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.#cancelSweep?.();
    this.#cancelPause?.();
    this.#warnings.clear();
    this.#others.clear();
    await this.idle();
  }

  #enqueue(recorded: Recorded): boolean {
    const [queue, others] = recorded.event.type === 'Warning' ? [this.#warnings, this.#others] : [this.#others, this.#warnings];
    if (!queue.has(recorded) && queue.size + others.size >= limits.eventQueue) {
      const displaced = this.#others.first();
      this.#lose('queue');
      if (queue === this.#others || displaced === undefined) return false;
      this.#others.delete(displaced);
      this.#series.delete(keyOf(displaced.event));
    }
    queue.add(recorded);
    this.#schedule();
    return true;
  }

  #budgetOf(object: string): TokenBucket {
    const known = this.#budgets.get(object);
    if (known !== undefined) return known;
    const budget = new TokenBucket({ burst: limits.eventBurst, refillMilliseconds: limits.eventTokenMilliseconds });
    this.#budgets.set(object, budget);
    return budget;
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    // The caller's work goes first.
    queueMicrotask(() => {
      this.#scheduled = false;
      while (this.#atWork.size < limits.eventsAtWork) {
        const next = this.#next();
        if (next === undefined || this.#stop.signal.aborted) break;
        const { isBusy, clock } = this.#components;
        const rate = isBusy?.() === true ? this.#busyRate : this.#rate;
        if (!rate.take(clock.now())) {
          this.#resumeLater();
          break;
        }
        this.#warnings.delete(next);
        this.#others.delete(next);
        this.#atWork.add(next);
        void this.#work(next);
      }
      if (this.#atWork.size === 0) for (const resolve of this.#waiting.splice(0)) resolve();
    });
  }

  #resumeLater(): void {
    this.#cancelPause ??= this.#components.clock.after(limits.eventRateMilliseconds, () => {
      this.#cancelPause = undefined;
      this.#schedule();
    });
  }

  /** A repeated Event waits while it is being written, because a patch needs the created object. */
  #next(): Recorded | undefined {
    for (const queue of [this.#warnings, this.#others]) {
      const first = queue.first();
      if (first === undefined) continue;
      if (!this.#atWork.has(first)) return first;
      for (const recorded of queue) if (!this.#atWork.has(recorded)) return recorded;
    }
    return undefined;
  }

  async #work(recorded: Recorded): Promise<void> {
    await this.#write(recorded);
    this.#atWork.delete(recorded);
    this.#schedule();
  }

  async #write(recorded: Recorded): Promise<void> {
    const { clock } = this.#components;
    for (let attempt = 1; ; attempt++) {
      try {
        await this.#put(recorded);
        this.#backOff.succeeded();
        return;
      } catch (error) {
        if (!(error instanceof KubeError)) throw error;
        if (error.namespaceEnds) return this.#drop(recorded);
        const passing = passingErrors.has(error.code);
        if (!passing || attempt >= limits.eventAttempts) return this.#lose(passing ? 'unreachable' : lossOf(error), error);
        await sleep(clock, this.#backOff.failed(error.retryAfterMilliseconds), this.#stop.signal).catch(() => undefined);
        if (this.#stop.signal.aborted) return;
      }
    }
  }

  async #put(recorded: Recorded): Promise<void> {
    const { client } = this.#components;
    const { event, name, at, series } = recorded;
    const path = `/apis/events.k8s.io/v1/namespaces/${encodeURIComponent(eventNamespace(event))}/events`;
    const isThere = recorded.written > 0;
    if (isThere && series !== undefined) {
      const patch = { method: 'PATCH', contentType: 'application/merge-patch+json', body: { series: seriesManifest(series) } } as const;
      const patched = client.write({ ...patch, path: `${path}/${name}`, answer: 'identity' }).then(() => true);
      const found = await undefinedOn(patched, 'notFound');
      recorded.written = series.count;
      if (found === true) return;
    }
    // The Event may exist already because an earlier response was lost. That counts as success.
    const body = eventManifest(name, event, this.#reporter, at, series);
    await undefinedOn(client.write({ method: 'POST', path, body, answer: 'identity' }), 'conflict');
    recorded.written = series?.count ?? 1;
  }

  #sweepLater(): void {
    this.#cancelSweep ??= this.#components.clock.after(limits.eventFinishMilliseconds, () => {
      this.#cancelSweep = undefined;
      this.#sweep();
      if (this.#series.size > 0) this.#sweepLater();
    });
  }

  /** Writes the counts of running series and forgets series that have ended. */
  #sweep(): void {
    const { clock } = this.#components;
    const now = clock.date().getTime();
    const refresh = clock.now() - this.#refreshed >= limits.eventRefreshMilliseconds;
    if (refresh) this.#refreshed = clock.now();
    for (const [key, recorded] of this.#series.entries()) {
      const { series, at, written } = recorded;
      const quiet = now - (series?.lastObserved ?? at).getTime();
      const ended = quiet >= limits.eventFinishMilliseconds;
      if (series !== undefined && series.count > written && (ended || refresh)) this.#enqueue(recorded);
      if (ended) this.#series.delete(key);
    }
  }

  /** Drops an Event about an object whose namespace is being deleted. The API server refuses it, and its readers go with the namespace. */
  #drop({ event: { regarding, reason } }: Recorded): void {
    const { kind, namespace, name } = regarding;
    this.#components.log.debug({ kind, namespace, name, reason }, 'an Event is dropped: its namespace is deleted');
  }

  #lose(why: EventLoss, error?: KubeError): void {
    this.#lost.set(why, (this.#lost.get(why) ?? 0) + 1);
    const { clock, log } = this.#components;
    if (clock.now() - this.#saidLost < limits.eventLossMilliseconds) return;
    this.#saidLost = clock.now();
    const problem = error === undefined ? {} : { problem: error.message, fix: error.fix };
    log.warn({ lost: Object.fromEntries(this.#lost), ...problem }, 'Events are lost');
  }
}

/** Errors worth another attempt: the API server is away or busy. */
const passingErrors: ReadonlySet<KubeErrorCode> = new Set<KubeErrorCode>(['unreachable', 'busy', 'failing', 'stalled', 'unauthorized']);

function lossOf({ code }: KubeError): EventLoss {
  return code === 'notLeading' ? 'leading' : 'refused';
}

function objectOf({ regarding: { kind, namespace, name, uid } }: ObjectEvent): string {
  return `${kind}/${namespace}/${name}/${uid}`;
}

/** Identifies repetitions. The note counts: another address is another Event. */
function keyOf(event: ObjectEvent): string {
  const { type, action, reason, note } = event;
  return JSON.stringify([objectOf(event), type, action, reason, note]);
}
