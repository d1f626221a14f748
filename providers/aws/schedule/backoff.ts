import type { ServiceKey } from '../../../src/model/objects/metadata.ts';
import type { Reason, ReasonCode } from '../../../src/model/reasons.ts';
import { backOffDelay, type BackOffOptions } from '../../../src/system/back-off.ts';
import type { Random } from '../../../src/system/random.ts';
import { limits } from '../model/limits.ts';

/**
 * How a refusal of AWS responds to waiting.
 *
 * - transient: it may pass soon without a change
 * - throttled: an early retry makes it worse, for every Service of the account
 * - permanent: a person has to change something, in the cluster or in AWS, and AWS does not notify us of that
 */
type RetryClass = 'transient' | 'throttled' | 'permanent';

/** Up to half of a wait is random, so that a thousand Services do not retry at the same time. */
const between = (first: number, longest: number): BackOffOptions => ({
  minimumMilliseconds: first * 1000,
  maximumMilliseconds: longest * 1000,
  jitter: 0.5,
});
const waits: Readonly<Record<RetryClass, BackOffOptions>> = {
  transient: between(limits.transientRetrySeconds, limits.transientRetryMaximumSeconds),
  throttled: between(limits.throttledRetrySeconds, limits.throttledRetryMaximumSeconds),
  permanent: between(limits.permanentRetrySeconds, limits.permanentRetryMaximumSeconds),
};

const transient: ReadonlySet<ReasonCode> = new Set(['AwsCallFailed', 'AwsInUse', 'AwsCredentials', 'AwsPlaceUnknown', 'AwsPodsUnreadable']);

const permanent: ReadonlySet<ReasonCode> = new Set([
  'AwsRefused',
  'AwsTargetsRefused',
  'AwsZoneRefused',
  'AwsWithoutEffect',
  'AwsDeletionProtected',
  'AwsEndpointServiceInUse',
  'AwsClusterNameTaken',
]);

/** Undefined: the reason is no refusal. */
export function retryClassOf({ code }: Reason): RetryClass | undefined {
  if (transient.has(code)) return 'transient';
  if (code === 'AwsThrottled') return 'throttled';
  return permanent.has(code) ? 'permanent' : undefined;
}

/** The wait before the next attempt for a Service. It doubles with each failure, up to a limit. */
export class Backoff {
  readonly #random: Random;
  readonly #failures = new Map<ServiceKey, number>();

  constructor(random: Random) {
    this.#random = random;
  }

  /** Services whose last attempt failed. */
  get failing(): Iterable<ServiceKey> {
    return this.#failures.keys();
  }

  /** Failures in a row. */
  failuresOf(key: ServiceKey): number {
    return this.#failures.get(key) ?? 0;
  }

  /** Records a failure. Returns the seconds to wait. */
  recordFailure(key: ServiceKey, retryClass: RetryClass): number {
    const failures = this.failuresOf(key) + 1;
    this.#failures.set(key, failures);
    return backOffDelay(failures, waits[retryClass], this.#random) / 1000;
  }

  /** An attempt succeeded, or the Service asks for something else now. */
  forgetFailures(key: ServiceKey): void {
    this.#failures.delete(key);
  }
}
