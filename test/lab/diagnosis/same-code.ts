import { expect } from 'vitest';
import { withoutPoolRecord } from '../../../src/model/objects/pool-record.ts';
import type { Problem } from './faces.ts';
import type { Misconfiguration } from './misconfiguration.ts';

/** What Herald says of the Service of a case outside of its explanation. */
export interface Reports {
  /** "shop/web" */
  readonly service: string;
  readonly rows: { readonly code: number; readonly problems: readonly Problem[] };
  readonly conditions: Readonly<Record<string, { readonly status: string; readonly reason: string; readonly message: string }>>;
  /** The reasons of the Events about the Service. */
  readonly events: readonly string[];
  readonly count: (condition: string, status: string, reason: string) => number;
}

type Expected = Pick<Misconfiguration, 'code' | 'condition' | 'verdict' | 'isIntended' | 'isAnnounced' | 'alsoSays'>;

/** Expects that condition, Event, metric and the row of `herald status --problems` carry the code and the line of the verdict. */
export function expectSameCode(one: Expected, { service, rows, conditions, events, count }: Reports): void {
  expect(rows.code).toBe(3);
  const problem = rows.problems.find(
    ({ object, others = [], code }) => [object, ...others].includes(`Service/${service}`) && code === one.code,
  );
  if (one.alsoSays !== undefined) expect(rows.problems).toContainEqual(expect.objectContaining(one.alsoSays));
  if (one.isIntended === true) return expect(problem).toBeUndefined();
  expect(problem).toBeDefined();
  // A row of several Services has the line of the first: silent agents of different nodes are one row.
  const isFirst = problem?.object === `Service/${service}`;
  // Without a condition the row has the cause and the fix, but not the words before them.
  if (isFirst) expect(one.verdict.toLowerCase()).toContain(problem.line.toLowerCase());
  if (one.condition === undefined) return;
  if (isFirst) expect(problem.line).toBe(one.verdict);
  const status = one.isAnnounced === true ? 'True' : 'False';
  const { message, ...condition } = conditions[one.condition] ?? { message: '' };
  expect({ ...condition, message: withoutPoolRecord(message) }).toMatchObject({ status, reason: one.code, message: one.verdict });
  expect(events).toContain(one.code);
  expect(count(one.condition, status, one.code)).toBeGreaterThan(0);
}
