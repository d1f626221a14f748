import { reason, type Reason } from '../../../src/model/reasons.ts';

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

/** Quotas that AWS raises on request: whether it has done so is for AWS to say, which refuses in words. */
export function checkQuota(what: string, wanted: number, quota: number, issues: Issues): void {
  if (wanted > quota) issues.warn(reason('AwsAboveQuota', { what, quota }));
}

/** The name is that of the making: AWS renames none, and to make another one would take the old host name away. */
export function checkName(wanted: string | undefined, name: string | undefined, issues: Issues): void {
  if (wanted !== undefined && name !== undefined && wanted !== name) issues.warn(reason('AwsNameFixed', { name, wanted }));
}

function same(a: Reason, b: Reason): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
