import { limits } from '../../../src/model/limits.ts';
import { reason, type Reason } from '../../../src/model/reasons.ts';

/** Collects the first errors and warnings of a Service, each once, so that they are reported together. */
export class Issues {
  readonly errors: Reason[] = [];
  readonly warnings: Reason[] = [];

  error(reason: Reason): void {
    addOnce(this.errors, reason);
  }

  /** An annotation that cannot have its value. `problem` follows its key. */
  invalid(key: string, problem: string): void {
    this.error(reason('AwsAnnotationInvalid', { key, problem }));
  }

  /** False: a further warning is not reported, so that it need not be worked out. */
  get hasRoomForWarnings(): boolean {
    return this.warnings.length < limits.problemsPerObject;
  }

  warn(reason: Reason): void {
    addOnce(this.warnings, reason);
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

function addOnce(known: Reason[], reason: Reason): void {
  if (known.length >= limits.problemsPerObject) return;
  const text = JSON.stringify(reason);
  if (!known.some((one) => JSON.stringify(one) === text)) known.push(reason);
}
