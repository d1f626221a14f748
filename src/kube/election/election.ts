import type { Cancel, Clock } from '../../system/clock.ts';
import type { Log } from '../../system/log.ts';
import type { Random } from '../../system/random.ts';
import type { KubeClient } from '../client/client.ts';
import { StallTimeout } from '../client/stall-timeout.ts';
import { KubeError, undefinedOn } from '../error.ts';
import { initialLeaseState, leadsUntil, step, type LeaseEffect, type LeaseEvent, type LeaseState, type LeaseTiming } from './lease.ts';
import { leaseManifest, readLease, type Lease, type LeaseName } from './lease-object.ts';
import { limits } from '../limits.ts';

export interface ElectionComponents {
  readonly client: Pick<KubeClient, 'get' | 'write'>;
  /** Calls back when the Lease may have changed, until the signal aborts, so that a released Lease is acquired at once. */
  readonly watch: (lease: LeaseName, changed: () => void, signal: AbortSignal) => void;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Called after each event, when what the election tells may have changed. */
  readonly changed?: () => void;
}

export interface ElectionOptions {
  readonly lease: LeaseName;
  /** Unique to this process; no earlier process with our name had it. */
  readonly identity: string;
  /** Default: the shipped one. */
  readonly timing?: LeaseTiming;
}

/** What the rest of the process knows of its candidate. */
export type Candidacy = Pick<Election, 'mayWrite' | 'term' | 'refusal' | 'lost' | 'resign'>;

/**
 * Executes the effects of the state machine in lease.ts: requests, timers, log. Serves one term: a process that lost the Lease does not
 * campaign again.
 */
export class Election {
  readonly #components: ElectionComponents;
  readonly #options: ElectionOptions;
  readonly #timing: LeaseTiming;
  readonly #elected = Promise.withResolvers<boolean>();
  readonly #ended = Promise.withResolvers<void>();
  readonly #lost = Promise.withResolvers<void>();
  readonly #waiting = new AbortController();
  readonly #term = new AbortController();
  #state: LeaseState = initialLeaseState;
  #cancel: Cancel | undefined;
  /** The time of the last renewal by the wall clock. */
  #renewedAt = 0;
  #holder: string | undefined;
  #trouble: KubeError | undefined;

  constructor(components: ElectionComponents, options: ElectionOptions) {
    this.#components = components;
    this.#options = options;
    this.#timing = options.timing ?? shippedTiming;
  }

  /** Resolves to true when we lead, however long it takes, and to false when `resign` came first. */
  campaign(): Promise<boolean> {
    this.#components.watch(this.#options.lease, () => this.#post({ type: 'changed' }), this.#waiting.signal);
    this.#post({ type: 'due' });
    return this.#elected.promise;
  }

  /**
   * True when a write may begin: we lead, and renewed the Lease so recently that no other process can lead. The monotonic clock may stop
   * while a virtual machine is paused, so the wall clock must agree; when that is set forward, nothing is written until the next renewal.
   */
  mayWrite(): boolean {
    const { clock } = this.#components;
    const until = this.writesUntil();
    return until !== undefined && clock.now() < until.now && clock.date().getTime() < until.date;
  }

  /** Returns until when a write may begin, in milliseconds by the monotonic and by the wall clock. Undefined when we do not lead. */
  writesUntil(): { readonly now: number; readonly date: number } | undefined {
    const now = leadsUntil(this.#state, this.#timing);
    return now === undefined ? undefined : { now, date: this.#renewedAt + this.#timing.renewDeadlineMilliseconds };
  }

  /** Aborts when we no longer lead. */
  get term(): AbortSignal {
    return this.#term.signal;
  }

  /** Returns why the API server refuses us the Lease, with the fix. Undefined while it does not, and when it does not answer. */
  refusal(): string | undefined {
    const { namespace, name } = this.#options.lease;
    const { code, message } = this.#trouble ?? {};
    if (this.#trouble === undefined || message === undefined || (code !== 'forbidden' && code !== 'notFound')) return undefined;
    return `the Lease ${namespace}/${name} cannot be had: ${message}. Fix: ${this.#fixOf(this.#trouble)}`;
  }

  /** Resolves when the Lease was lost. Never resolves after it was released. */
  get lost(): Promise<void> {
    return this.#lost.promise;
  }

  /** Releases the Lease, so that another process leads at once. Also resolves when the release failed: the Lease then expires. */
  resign(): Promise<void> {
    this.#post({ type: 'stop' });
    return this.#ended.promise;
  }

  #post(event: LeaseEvent): void {
    const { clock, random } = this.#components;
    const context = { identity: this.#options.identity, timing: this.#timing, now: clock.now(), random: random() };
    const before = this.#state;
    const { state, effects } = step(before, event, context);
    this.#state = state;
    if (event.type === 'read') this.#logHolder(event.lease);
    if (before.phase === 'leading' && state.phase !== 'leading')
      this.#term.abort(new KubeError('notLeading', 'given up: another controller may lead by now'));
    this.#components.changed?.();
    for (const effect of effects) this.#do(effect);
  }

  #do(effect: LeaseEffect): void {
    const { clock, log } = this.#components;
    switch (effect.do) {
      case 'read':
        void this.#ask(
          (signal) => this.#read(signal),
          (lease) => ({ type: 'read', lease }),
          isRace,
        );
        return;
      case 'write': {
        const began = clock.date().getTime();
        void this.#ask(
          (signal) => this.#write(effect, signal),
          (lease) => {
            this.#renewedAt = began;
            return { type: 'written', lease };
          },
          // Without its namespace a Lease cannot be created, however often it is tried.
          (error) => isRace(error) && (effect.over !== undefined || error.code !== 'notFound'),
        );
        return;
      }
      case 'wait':
        this.#cancel?.();
        this.#cancel = clock.after(effect.milliseconds, () => this.#post({ type: 'due' }));
        return;
      case 'lead':
        this.#waiting.abort();
        log.info({ ...this.#options.lease, identity: this.#options.identity }, 'leading');
        this.#elected.resolve(true);
        return;
      case 'end':
        this.#end(effect.because);
    }
  }

  #end(because: 'lost' | 'stopped'): void {
    this.#cancel?.();
    this.#waiting.abort();
    this.#elected.resolve(false);
    this.#ended.resolve();
    if (because === 'lost') this.#lost.resolve();
  }

  async #ask<T>(
    request: (signal: AbortSignal) => Promise<T>,
    answer: (value: T) => LeaseEvent,
    hasRaced: (error: KubeError) => boolean,
  ): Promise<void> {
    const deadline = new StallTimeout(this.#components.clock, limits.leaseAnswerMilliseconds);
    let event: LeaseEvent;
    try {
      event = answer(await request(deadline.signal));
      // An answer to a read does not show that we may write.
      if (event.type === 'written' || (event.type === 'read' && (event.lease?.holder ?? '') !== '')) this.#trouble = undefined;
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
      event = { type: 'failed', raced: hasRaced(error) };
      this.#logError(error);
    } finally {
      deadline.end();
    }
    this.#post(event);
  }

  async #read(signal: AbortSignal): Promise<Lease | undefined> {
    const lease = await undefinedOn(this.#components.client.get(this.#path, {}, signal), 'notFound');
    return lease === undefined ? undefined : readLease(lease);
  }

  async #write({ term, over }: Extract<LeaseEffect, { do: 'write' }>, signal: AbortSignal): Promise<Lease> {
    const { client, clock } = this.#components;
    const { lease } = this.#options;
    const body = leaseManifest(lease, term, over, clock.date());
    const where =
      over === undefined ? ({ method: 'POST', path: leasesPath(lease) } as const) : ({ method: 'PUT', path: this.#path } as const);
    return readLease(await client.write({ ...where, body }, signal));
  }

  get #path(): string {
    return `${leasesPath(this.#options.lease)}/${encodeURIComponent(this.#options.lease.name)}`;
  }

  #logHolder(lease: Lease | undefined): void {
    const holder = lease?.holder ?? '';
    if (holder === this.#holder || holder === '' || holder === this.#options.identity) return;
    this.#holder = holder;
    this.#components.log.info({ ...this.#options.lease, leader: holder }, 'another one leads');
  }

  #logError(error: KubeError): void {
    const { code, message: problem } = error;
    const isTold = this.#trouble?.code === code && this.#trouble.message === problem;
    if (code === 'conflict' || isTold) return;
    this.#trouble = error;
    this.#components.log.warn({ ...this.#options.lease, problem, fix: this.#fixOf(error) }, 'the Lease cannot be had');
  }

  #fixOf({ code, fix }: KubeError): string {
    const { namespace } = this.#options.lease;
    if (code !== 'notFound') return fix;
    return `create the namespace (kubectl create namespace ${namespace}), or name the namespace of Herald with --leader-elect-namespace`;
  }
}

function isRace({ code }: KubeError): boolean {
  return code === 'conflict' || code === 'notFound';
}

export function leasesPath({ namespace }: Pick<LeaseName, 'namespace'>): string {
  return `/apis/coordination.k8s.io/v1/namespaces/${encodeURIComponent(namespace)}/leases`;
}

const shippedTiming: LeaseTiming = {
  leaseMilliseconds: limits.leaseMilliseconds,
  renewDeadlineMilliseconds: limits.renewDeadlineMilliseconds,
  retryMilliseconds: limits.leaseRetryMilliseconds,
  retryJitter: limits.leaseRetryJitter,
};
