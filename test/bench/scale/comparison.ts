import { shapeOf, type AuditedRequest } from './audit-log.ts';

/** Requests of some agents, and how many agents they are. */
export interface RequestsOfAgents {
  readonly agents: number;
  readonly requests: readonly AuditedRequest[];
}

/** A kind of request that real agents and recorded ones do not make equally often. Counts are for one agent. */
export interface Deviation {
  readonly request: string;
  readonly real: number;
  readonly recorded: number;
}

/**
 * Compares how often each kind of request is made by a real agent and by a recorded one. `tolerance`: the difference that counts, in requests
 * of one agent. Reads must be the same, so one that only one side makes counts in any number; writes depend on random pauses.
 */
export function deviations(real: RequestsOfAgents, recorded: RequestsOfAgents, tolerance: number): Deviation[] {
  const [inReal, inRecorded] = [perAgent(real), perAgent(recorded)];
  return [...new Set([...inReal.keys(), ...inRecorded.keys()])]
    .map((request) => ({ request, real: inReal.get(request) ?? 0, recorded: inRecorded.get(request) ?? 0 }))
    .filter(({ real: one, recorded: other }) => (tolerance < 1 && (one === 0) !== (other === 0)) || Math.abs(one - other) > tolerance)
    .toSorted((a, b) => (a.request < b.request ? -1 : 1));
}

function perAgent({ agents, requests }: RequestsOfAgents): Map<string, number> {
  const counts = new Map<string, number>();
  for (const request of requests) {
    const shape = shapeOf(request);
    counts.set(shape, (counts.get(shape) ?? 0) + 1 / agents);
  }
  return counts;
}
