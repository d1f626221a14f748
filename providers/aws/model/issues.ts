import { reason, type Reason } from '../../../src/model/reasons.ts';

/** Collects all errors and warnings of a Service, so that all are reported at once. */
export class Issues {
  readonly errors: Reason[] = [];
  readonly warnings: Reason[] = [];

  error(reason: Reason): void {
    if (!this.errors.some((known) => same(known, reason))) this.errors.push(reason);
  }

  /** An annotation that cannot have its value. `problem` follows its key. */
  invalid(key: string, problem: string): void {
    this.error(reason('AwsAnnotationInvalid', { key, problem }));
  }

  warn(reason: Reason): void {
    if (!this.warnings.some((known) => same(known, reason))) this.warnings.push(reason);
  }
}

/** Warns about a quota that AWS raises on request. Herald does not know the raised value: AWS refuses the call if it is exceeded. */
export function checkQuota(what: string, wanted: number, quota: number, issues: Issues): void {
  if (wanted > quota) issues.warn(reason('AwsAboveQuota', { what, quota }));
}

/** Warns when another name is wanted than the load balancer has. AWS cannot rename it, and a new one would get another host name. */
export function checkName(wanted: string | undefined, name: string | undefined, issues: Issues): void {
  if (wanted !== undefined && name !== undefined && wanted !== name) issues.warn(reason('AwsNameFixed', { name, wanted }));
}

function same(a: Reason, b: Reason): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
