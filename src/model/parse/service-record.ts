import type { Ingress } from '../service.ts';
import { Fields } from './fields.ts';
import { readIngress } from './ingress.ts';
import type { FieldProblem, Findings } from './problem.ts';

export interface ServiceRecord {
  /** Absent when the record cannot be used. */
  readonly ingress?: readonly Ingress[];
  readonly problems: readonly FieldProblem[];
}

/** A Service of which only the status is there: what Herald itself recorded. An empty list is a record too: no address. */
export function readServiceRecord(raw: Readonly<Record<string, unknown>>): ServiceRecord {
  const findings: Findings = { problems: [], warnings: [], unusable: false };
  const ingress = readIngress(new Fields(raw, findings, { strict: false }).object('status').object('loadBalancer'));
  return { problems: findings.problems, ...(findings.unusable ? {} : { ingress }) };
}
