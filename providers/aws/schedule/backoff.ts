import type { ServiceKey } from '../../../src/model/objects/metadata.ts';
import type { Reason } from '../../../src/model/reasons.ts';
import type { Random } from '../../../src/system/random.ts';
import { limits } from '../model/limits.ts';

/**
 * What waiting does about a "no" of AWS.
 *
 * - transient: it may pass by itself, soon
 * - throttled: whoever asks again at once makes it worse, for every Service of the account
 * - permanent: somebody has to change something, here or in AWS, and AWS does not tell when that was done
 */
type RetryClass = 'transient' | 'throttled' | 'permanent';

const waits: Readonly<Record<RetryClass, { readonly first: number; readonly longest: number }>> = {
  transient: { first: limits.transientRetrySeconds, longest: limits.transientRetryMaximumSeconds },
  throttled: { first: limits.throttledRetrySeconds, longest: limits.throttledRetryMaximumSeconds },
  permanent: { first: limits.permanentRetrySeconds, longest: limits.permanentRetryMaximumSeconds },
};

/** Undefined: nothing was refused. */
export function retryClassOf({ code }: Reason): RetryClass | undefined {
  if (code === 'AwsCallFailed' || code === 'AwsCredentials' || code === 'AwsPlaceUnknown') return 'transient';
  if (code === 'AwsThrottled') return 'throttled';
  return code === 'AwsRefused' || code === 'AwsDeletionProtected' ? 'permanent' : undefined;
}

/** How long a Service with which something went wrong is left alone: the more often it did, the longer, up to a bound. */
export class Backoff {
  readonly #random: Random;
  readonly #failures = new Map<ServiceKey, number>();

  constructor(random: Random) {
    this.#random = random;
  }

  /** Services with which something is wrong at the moment. */
  get failing(): Iterable<ServiceKey> {
    return this.#failures.keys();
  }

  /** Failures in a row. */
  failuresOf(key: ServiceKey): number {
    return this.#failures.get(key) ?? 0;
  }

  /** Notes a failure. Returns the seconds to wait, of which up to half are left to chance: a thousand Services must not come back in step. */
  recordFailure(key: ServiceKey, persistence: RetryClass): number {
    const failures = this.failuresOf(key) + 1;
    this.#failures.set(key, failures);
    const { first, longest } = waits[persistence];
    const seconds = Math.min(longest, first * 2 ** Math.min(failures - 1, 20));
    return seconds * (0.5 + this.#random() / 2);
  }

  /** It went well, or it is another question by now. */
  forgetFailures(key: ServiceKey): void {
    this.#failures.delete(key);
  }
}
