import { sleep, type Clock } from '../../system/clock.ts';
import type { Log } from '../../system/log.ts';
import type { Random } from '../../system/random.ts';
import { TimeSlice } from '../../system/time-slice.ts';
import { BackOff } from '../../system/back-off.ts';
import { retryDelays } from './retry-delays.ts';
import type { KubeClient, Query } from '../client/client.ts';
import type { WatchObserver } from '../client/client-observer.ts';
import { StallTimeout } from '../client/stall-timeout.ts';
import { KubeError } from '../error.ts';
import { FormatChoice } from '../format/format-choice.ts';
import type { ListPage } from '../format/object-format.ts';
import type { ObjectTable } from '../format/protobuf/object-table.ts';
import { ProtobufError } from '../format/protobuf/protobuf-error.ts';
import type { WatchEvent } from '../format/watch-event.ts';
import { limits } from '../limits.ts';
import { pagesBy } from './list-pages.ts';
import { rawKey, type RawObject } from '../raw-object.ts';

/** One kind of objects at the API server, or a part of it. */
export interface Resource {
  /** "/api/v1/services". */
  readonly path: string;
  /** "metadata.name=default". */
  readonly fieldSelector?: string;
  /** "app.kubernetes.io/name=herald". */
  readonly labelSelector?: string;
  /** The API server may lack the kind while its CRD is not installed. It then counts as empty and is looked for again. */
  readonly optional?: boolean;
  /** Lets the objects be read in protobuf, with only these fields. Absent: they are read in JSON, as Herald's own kinds must be. */
  readonly table?: ObjectTable;
}

/** Stores the objects. Called in order; the same object may be reported present many times. */
export interface ReflectorSink {
  present(key: string, object: RawObject): void;
  deleted(key: string): void;
  /** A batch ends: the reports so far describe one moment or, before the first `complete`, a part of it. */
  flush(): void;
  /** All existing objects were reported. Called after each list, after the vanished objects were reported deleted. */
  complete(): void;
  /** Called when the error changes; undefined when requests work again. Stored objects stay. */
  failed(error: KubeError | undefined): void;
}

export interface ReflectorComponents {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly observer?: WatchObserver;
}

/**
 * Keeps a sink equal to the API server's state until the signal aborts: a list, then a watch from there, resumed wherever it broke off. The
 * list is the beginning of the watch when the server can stream it (WatchList, KEP-3157), otherwise it comes in pages. After an error the
 * watch resumes from the last seen version; only when that has expired (410) is the list read again, and then only the difference reaches
 * the sink. Octets of protobuf that it cannot read are read in JSON from then on.
 */
export class Reflector {
  readonly #components: ReflectorComponents;
  readonly #resource: Resource;
  readonly #sink: ReflectorSink;
  readonly #backOff: BackOff;
  readonly #format: FormatChoice;
  readonly #keys = new Set<string>();
  /** Where a watch may begin. Undefined when a list must come first. */
  #version: string | undefined;
  #streamsLists = true;
  /** The next list comes in pages, because the last streamed one could not be read. */
  #pagesNext = false;
  /** Failures in a row; how many of them were server errors during a watch; answers that the kind does not exist. */
  #failures = 0;
  #refusals = 0;
  #absences = 0;
  #trouble: string | undefined;

  constructor(resource: Resource, sink: ReflectorSink, components: ReflectorComponents) {
    this.#resource = resource;
    this.#sink = sink;
    this.#components = components;
    this.#backOff = new BackOff(components.random, retryDelays);
    this.#format = new FormatChoice(resource.table);
  }

  /** Resolves when the signal has aborted. API errors never reject it. */
  async run(signal: AbortSignal): Promise<void> {
    try {
      await this.#run(signal);
    } finally {
      this.#components.observer?.watchEnded(this.#resource.path);
    }
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#components;
    while (!signal.aborted) {
      const began = clock.now();
      const error = await this.#follow(signal).then(
        () => undefined,
        (error: unknown) => error,
      );
      if (signal.aborted) return;
      if (error !== undefined && !(error instanceof KubeError)) throw error;
      const lasted = clock.now() - began;
      if (lasted >= limits.healthyMilliseconds) this.#backOff.succeeded();
      const pause = error === undefined ? this.#ended(lasted) : this.#failed(error);
      await sleep(clock, pause, signal).catch(() => undefined);
    }
  }

  /** The server ends a watch after its timeout, and the next one follows at once, unless the server ends every watch at once. */
  #ended(lasted: number): number {
    return lasted < limits.retryMinimumMilliseconds ? this.#backOff.failed() : 0;
  }

  /** Runs one list or one watch; with WatchList, both. Returns when nothing is left to read and no error occurred. */
  async #follow(signal: AbortSignal): Promise<void> {
    if (this.#version !== undefined) await this.#watch({ resourceVersion: this.#version }, undefined, signal);
    else if (this.#streamsLists && !this.#pagesNext) {
      await this.#watch({ sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' }, new Set(), signal);
    } else {
      await this.#list(signal);
      await this.#watch({ resourceVersion: this.#version }, undefined, signal);
    }
  }

  async #list(signal: AbortSignal): Promise<void> {
    const { fieldSelector, labelSelector } = this.#resource;
    const seen = new Set<string>();
    const turn = new TimeSlice(this.#components.clock);
    let version = '';
    const pages = pagesBy((query) => this.#page(query, signal), { fieldSelector, labelSelector });
    for await (const { items, resourceVersion } of pages) {
      for (const object of items) {
        seen.add(this.#present(object));
        if (turn.isUsedUp) await turn.yield();
      }
      version = resourceVersion;
      this.#sink.flush();
      await turn.yield();
    }
    this.#complete(seen, version);
  }

  async #page(query: Query, signal: AbortSignal): Promise<ListPage> {
    const { contentType, body } = await this.#components.client.getAs(this.#format.accept, this.#resource.path, query, signal);
    return this.#format.formatOf(contentType).list(body);
  }

  /** `initial` collects the initial objects until the server has reported all of them. Undefined when they are known. */
  async #watch(from: Query, initial: Set<string> | undefined, signal: AbortSignal): Promise<void> {
    const { client, clock, random } = this.#components;
    const { path, fieldSelector, labelSelector } = this.#resource;
    const timeoutSeconds = Math.round(limits.watchSeconds * (1 + random()));
    const silence = new StallTimeout(clock, limits.silenceMilliseconds, signal);
    const query = { watch: true, allowWatchBookmarks: true, timeoutSeconds, fieldSelector, labelSelector, ...from };
    try {
      const turn = new TimeSlice(clock);
      const { contentType, body } = await client.stream(path, query, silence.signal, this.#format.accept);
      const events = this.#format.formatOf(contentType).eventReader();
      if (initial === undefined) this.#works();
      for await (const chunk of body) {
        if (turn.isUsedUp) await turn.yield();
        for (const event of events.push(chunk)) {
          initial = this.#handle(event, initial);
          silence.progress();
          if (!turn.isUsedUp) continue;
          this.#sink.flush();
          await turn.yield();
        }
        this.#sink.flush();
      }
      events.end();
    } finally {
      silence.end();
      this.#sink.flush();
    }
    if (initial !== undefined) throw new KubeError('malformed', 'the list ended before it was complete');
  }

  /** Returns the collected initial objects. Undefined once the list is complete. */
  #handle(event: WatchEvent, initial: Set<string> | undefined): Set<string> | undefined {
    this.#components.observer?.watchEvent(this.#resource.path, event.type);
    if (event.type === 'bookmark') {
      if (initial !== undefined && !event.complete) throw new KubeError('refused', 'the API server does not stream lists', { status: 400 });
      if (initial === undefined) this.#sawVersion(event.resourceVersion);
      else this.#complete(initial, event.resourceVersion);
      return undefined;
    }
    const { object } = event;
    const key = rawKey(object);
    if (event.type === 'present') {
      this.#present(object);
      initial?.add(key);
    } else {
      this.#gone(key);
      initial?.delete(key);
    }
    if (initial === undefined) this.#sawVersion(object.metadata.resourceVersion);
    return initial;
  }

  #sawVersion(version: string): void {
    this.#version = version;
    this.#refusals = 0;
  }

  #present(object: RawObject): string {
    const key = rawKey(object);
    this.#keys.add(key);
    this.#sink.present(key, object);
    return key;
  }

  #gone(key: string): void {
    if (this.#keys.delete(key)) this.#sink.deleted(key);
  }

  /** Objects that the list does not contain have vanished while no watch ran. */
  #complete(seen: ReadonlySet<string>, version: string): void {
    for (const key of this.#keys) if (!seen.has(key)) this.#gone(key);
    this.#sawVersion(version);
    this.#absences = 0;
    this.#pagesNext = false;
    this.#sink.flush();
    this.#works();
    this.#components.observer?.listed(this.#resource.path);
    this.#sink.complete();
  }

  #works(): void {
    this.#failures = 0;
    if (this.#trouble === undefined) return;
    this.#trouble = undefined;
    this.#components.log.debug({ path: this.#resource.path }, 'the API server is read again');
    this.#sink.failed(undefined);
  }

  /** Handles an error and returns the pause before the next attempt. */
  #failed(error: KubeError): number {
    const watched = this.#version !== undefined;
    if (!watched && this.#streamsLists && !this.#pagesNext && cannotStream(error)) {
      this.#streamsLists = false;
      return 0;
    }
    if (error.code === 'notFound' && this.#resource.optional === true) return this.#absent();
    this.#components.observer?.watchFailed(this.#resource.path, error.code);
    if (error instanceof ProtobufError) this.#format.useJson();
    // An unreadable line would come again, and a silent stream would stay silent, so the list is tried in pages.
    this.#pagesNext = error.code === 'malformed' || (error.code === 'stalled' && !watched);
    // A server restored from a backup does not know our version and reports that with an error of its own.
    if (watched && isRefusal(error)) this.#refusals++;
    if (error.code === 'gone' || error.code === 'malformed' || this.#refusals >= limits.refusalsBeforeList) this.#version = undefined;
    const pause = this.#backOff.failed(error.retryAfterMilliseconds);
    this.#failures++;
    this.#report(error, watched && this.#failures === 1, Math.round(pause));
    return pause;
  }

  /** A starting API server may not know its own kinds for a moment, so objects are dropped only after repeated answers. */
  #absent(): number {
    this.#absences++;
    if (this.#keys.size === 0 || this.#absences >= limits.absentLooks) this.#complete(new Set(), '');
    this.#version = undefined;
    return limits.absentMilliseconds * (1 + this.#components.random() / 2);
  }

  /** `passing` is true for a watch that broke off, which is normal now and then. */
  #report(error: KubeError, passing: boolean, retryInMilliseconds: number): void {
    const { log } = this.#components;
    const { path } = this.#resource;
    const { code, message: problem } = error;
    log.debug({ path, problem, retryInMilliseconds }, 'the API server cannot be read, it is tried again');
    const trouble = `${code} ${problem}`;
    if (passing || trouble === this.#trouble) return;
    this.#trouble = trouble;
    this.#sink.failed(error);
  }
}

/** Servers without WatchList answer that the request is invalid (422) or unknown (400). */
function cannotStream({ status }: KubeError): boolean {
  return status === 400 || status === 422;
}

/** For a watch: any error that is neither about our rights (401, 403) nor about load. */
function isRefusal({ status = 0 }: KubeError): boolean {
  return status === 400 || status === 422 || status >= 500;
}
