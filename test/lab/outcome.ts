/** The outcome of one request. `at` is its start in milliseconds since the epoch, with fractions. */
export type Outcome = Answered | Failed;

export interface Answered {
  readonly ok: true;
  readonly at: number;
  readonly milliseconds: number;
  /** The pod that answered. */
  readonly pod: string;
  /** The source that the pod saw. */
  readonly client: string;
  readonly clientPort: number;
  /** The pod said that it is about to end. */
  readonly closing?: true;
}

export interface Failed {
  readonly ok: false;
  readonly at: number;
  readonly milliseconds: number;
  /**
   * TIMEOUT, a system error code (ECONNREFUSED, ECONNRESET, EHOSTUNREACH, ENETUNREACH, ...), or CLOSED if the connection ended without an
   * answer.
   */
  readonly error: string;
}

export interface Report {
  readonly outcomes: readonly Outcome[];
  readonly failed: number;
  /** The number of answers by pod. */
  readonly pods: Readonly<Record<string, number>>;
  /** The distinct sources that pods saw. */
  readonly clients: readonly string[];
  /** The number of failures by error. */
  readonly errors: Readonly<Record<string, number>>;
}

export function report(outcomes: readonly Outcome[]): Report {
  const answered = outcomes.filter((outcome) => outcome.ok);
  const failed = outcomes.filter((outcome) => !outcome.ok);
  return {
    outcomes,
    failed: failed.length,
    pods: count(answered.map(({ pod }) => pod)),
    clients: [...new Set(answered.map(({ client }) => client))],
    errors: count(failed.map(({ error }) => error)),
  };
}

function count(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}
