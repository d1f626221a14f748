import { sleep, type Clock } from '../../../src/system/clock.ts';
import type { Log } from '../../../src/system/log.ts';
import type { Random } from '../../../src/system/random.ts';
import type { AwsError } from '../cloud/error.ts';
import { isWrite, type Operation } from '../cloud/operations.ts';
import { classify, wasNotSent } from './classify.ts';
import { abortedError, Fence } from './fence.ts';
import { limits } from './limits.ts';
import { classOf, rates, type RequestClass } from './rates.ts';
import { TokenBucket } from './token-bucket.ts';

/** Who counts requests; must be quick and must not throw. */
interface RequestObserver {
  /** A request waited for its turn. */
  waited(operation: string, milliseconds: number): void;
  /** One attempt has ended; `code` of AwsError, or "ok". */
  attempted(operation: string, code: string, milliseconds: number): void;
}

export interface PacerComponents {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Whoever waits for his turn when it aborts is refused; a request on its way is not touched. */
  readonly stopped: AbortSignal;
  /** Whether this controller leads: asked immediately before each request that changes something. Absent: it is the only one. */
  readonly mayWrite?: () => boolean;
  /** Absent: nobody counts. */
  readonly observer?: RequestObserver;
}

/**
 * Sends requests at the pace that AWS allows, and again where that is safe: what was throttled was not done, a read does nothing, and
 * what never left did nothing either. A write without an answer is not repeated: nobody knows whether it was done, so it is looked up.
 */
export class Pacer {
  readonly #components: PacerComponents;
  readonly #fence: Fence;
  readonly #buckets = new Map<RequestClass, TokenBucket>();

  constructor(components: PacerComponents) {
    this.#components = components;
    this.#fence = new Fence(components.mayWrite);
    const { stopped } = components;
    stopped.addEventListener('abort', () => {
      for (const bucket of this.#buckets.values()) bucket.rejectWaiting(stoppedError(stopped));
    });
  }

  /** Rejects with AwsError alone. `about`: what the log says of the request, nothing secret. */
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
        if (code === 'throttled') this.#bucket(operation).drain();
        if (attempt === limits.attempts || !mayBeRepeated(error)) throw error;
        await this.#pause(operation, attempt);
      }
    }
  }

  /** The fence is asked twice: who may not write takes no token, and a turn may have been long in coming. */
  async #turn(operation: Operation): Promise<void> {
    const { stopped } = this.#components;
    try {
      if (stopped.aborted) throw stoppedError(stopped);
      this.#fence.assertMayWrite(operation);
      await this.#bucket(operation).take();
      if (stopped.aborted) throw stoppedError(stopped);
      this.#fence.assertMayWrite(operation);
    } catch (thrown) {
      throw classify(operation, thrown);
    }
  }

  /** All of the pause is at random, so that those who were refused together do not return together. */
  async #pause(operation: Operation, attempt: number): Promise<void> {
    const { clock, random, stopped } = this.#components;
    const longest = Math.min(limits.retryMaximumMilliseconds, limits.retryMinimumMilliseconds * 2 ** (attempt - 1));
    try {
      await sleep(clock, longest * random(), stopped);
    } catch {
      throw classify(operation, stoppedError(stopped));
    }
  }

  #bucket(operation: Operation): TokenBucket {
    const requestClass = classOf(operation);
    const known = this.#buckets.get(requestClass);
    if (known !== undefined) return known;
    const rate = rates[requestClass];
    if (rate === undefined) throw new Error(`${requestClass} has no rate`);
    const bucket = new TokenBucket(this.#components.clock, rate);
    this.#buckets.set(requestClass, bucket);
    return bucket;
  }
}

function mayBeRepeated(error: AwsError): boolean {
  if (error.code === 'throttled') return true;
  return error.code === 'unreachable' && (!isWrite(error.operation) || wasNotSent(error));
}

/** Classified as unreachable: the next one to run does it. */
function stoppedError({ reason }: AbortSignal): Error {
  return abortedError(reason instanceof Error ? reason.message : 'Herald is stopping');
}
