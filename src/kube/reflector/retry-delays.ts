import type { BackOffOptions } from '../../system/back-off.ts';
import { limits } from '../limits.ts';

/** The delays between retries of requests to the API server. */
export const retryDelays: BackOffOptions = {
  minimumMilliseconds: limits.retryMinimumMilliseconds,
  maximumMilliseconds: limits.retryMaximumMilliseconds,
  jitter: 0.5,
};
