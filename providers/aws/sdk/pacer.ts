import { backOffDelay } from '../../../src/system/back-off.ts';
import { sleep, type Clock } from '../../../src/system/clock.ts';
import type { Log } from '../../../src/system/log.ts';
import type { Random } from '../../../src/system/random.ts';
import { StoppedError, type AwsError } from '../cloud/error.ts';
import { isWrite, type Operation } from '../cloud/operations.ts';
import { currentUrgency, ranks } from '../cloud/urgency.ts';
import { classify, wasNotSent } from './classify.ts';
import { assertMayWrite } from './fence.ts';
import { limits } from './limits.ts';
import { firstRate } from './rates.ts';
import { TokenBucket } from './token-bucket.ts';

/** All of a delay is random, so that requests throttled together do not return together. */
const retryDelays = {
  minimumMilliseconds: limits.retryMinimumMilliseconds,
  maximumMilliseconds: limits.retryMaximumMilliseconds,
  jitter: 1,
};

/** Counts requests. Must be fast and must not throw. */
interface RequestObserver {
  /** A request waited this long for its turn. */
  waited(operation: string, milliseconds: number): void;
  /** An attempt has ended. `code` is that of AwsError, or "ok". */
  attempted(operation: string, code: string, milliseconds: number): void;
}

export interface PacerComponents {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** When it aborts, waiting requests are refused. A request that was already sent is not affected. */
  readonly stopped: AbortSignal;
  /** Returns true if this controller leads. Called immediately before each write. Absent: this is the only controller. */
  readonly mayWrite?: () => boolean;
  /** Absent: requests are not counted. */
  readonly observer?: RequestObserver;
}

/**
 * Sends requests at the rate that AWS allows, the most urgent first, and repeats them where that is safe: a throttled request and a request
 * that was never sent had no effect, and a read changes nothing. A write without an answer is not repeated, because it may have taken
 * effect. A later reconcile reads the actual state.
 */
export class Pacer {
  readonly #components: PacerComponents;
  readonly #buckets = new Map<Operation, TokenBucket>();

  constructor(components: PacerComponents) {
    this.#components = components;
    const { stopped } = components;
    stopped.addEventListener('abort', () => {
      for (const bucket of this.#buckets.values()) bucket.rejectWaiting(stoppedError(stopped));
    });
  }

  /** Rejects only with AwsError, and with StoppedError when the request may not be sent. `about`: fields for the log, without secrets. */
  async send<T>(operation: Operation, about: object, request: () => Promise<T>): Promise<T> {
    const { clock, log, observer } = this.#components;
    for (let attempt = 1; ; attempt++) {
      const came = clock.now();
      await this.#turn(operation);
      const begun = clock.now();
      observer?.waited(operation, begun - came);
      try {
        const answer = await request();
        observer?.attempted(operation, 'ok', clock.now() - begun);
        log.debug({ operation, ...about, attempt, milliseconds: Math.round(clock.now() - begun) }, 'AWS answered');
        return answer;
      } catch (thrown) {
        const error = classify(operation, thrown);
        const { code, awsCode, requestId, message } = error;
        observer?.attempted(operation, code, clock.now() - begun);
        const milliseconds = Math.round(clock.now() - begun);
        log.debug({ operation, ...about, attempt, milliseconds, code, awsCode, requestId, problem: message }, 'AWS refused');
        if (code === 'throttled') this.#bucket(operation).throttled(begun);
        if (attempt === limits.attempts || !mayBeRepeated(error)) throw error;
        await this.#pause(operation, attempt);
      }
    }
  }

  /**
   * Waits for the request's turn. The fence is checked before and after: a controller that may not write takes no token, and leadership may
   * be lost while waiting.
   */
  async #turn(operation: Operation): Promise<void> {
    const { stopped, mayWrite } = this.#components;
    try {
      if (stopped.aborted) throw stoppedError(stopped);
      assertMayWrite(operation, mayWrite);
      await this.#bucket(operation).take(ranks[currentUrgency()]);
      if (stopped.aborted) throw stoppedError(stopped);
      assertMayWrite(operation, mayWrite);
    } catch (thrown) {
      throw classify(operation, thrown);
    }
  }

  async #pause(operation: Operation, attempt: number): Promise<void> {
    const { clock, random, stopped } = this.#components;
    try {
      await sleep(clock, backOffDelay(attempt, retryDelays, random), stopped);
    } catch {
      throw classify(operation, stoppedError(stopped));
    }
  }

  #bucket(operation: Operation): TokenBucket {
    const known = this.#buckets.get(operation);
    if (known !== undefined) return known;
    const bucket = new TokenBucket(this.#components.clock, firstRate(operation));
    this.#buckets.set(operation, bucket);
    return bucket;
  }
}

function mayBeRepeated(error: AwsError): boolean {
  if (error.code === 'throttled') return true;
  return error.code === 'unreachable' && (!isWrite(error.operation) || wasNotSent(error));
}

function stoppedError({ reason }: AbortSignal): StoppedError {
  return new StoppedError(reason instanceof Error ? reason.message : 'Herald is stopping');
}
