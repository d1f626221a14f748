import type { CallerOptions, OutputOptions } from '../options/shared-options.ts';

export interface DrainOptions extends OutputOptions, CallerOptions {
  readonly source?: string;
  readonly force?: true;
  readonly keepLast?: true;
  readonly uncordon?: true;
  readonly dryRun?: true;
  readonly wait: 'true' | 'false';
  /** Seconds. */
  readonly timeout?: number;
}

/** Exit statuses of `herald drain`. exit-status.ts has the status of a wrong command line. */
export const drainStatus = { done: 0, error: 1, refused: 3, notYet: 4 } as const;
