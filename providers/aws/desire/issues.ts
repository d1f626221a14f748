import type { Reason } from '../../../src/model/reasons.ts';

/** Collects everything that is wrong with a Service, and everything that is odd: all of it is told at once. */
export class Issues {
  readonly errors: Reason[] = [];
  readonly warnings: Reason[] = [];

  error(reason: Reason): void {
    if (!this.errors.some((known) => same(known, reason))) this.errors.push(reason);
  }

  warn(reason: Reason): void {
    if (!this.warnings.some((known) => same(known, reason))) this.warnings.push(reason);
  }
}

function same(a: Reason, b: Reason): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
