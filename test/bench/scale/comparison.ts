import { recordedAddress } from './addresses.ts';
import { isOfRealAgent, isWrite, programOf, shapeOf, type AuditedRequest } from './audit-log.ts';

/** Differences between a real and a recorded agent that count, in requests of one agent: in reads; in writes, which depend on random pauses. */
const sameReads = 0.5;
/** A real agent reports its session, too. */
const writesOfStart = 5;
const writesOfServices = 6;

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

/** The requests of the phases in which real and recorded agents are compared. */
interface RequestsOfPhases {
  readonly start: readonly AuditedRequest[];
  readonly changes: readonly AuditedRequest[];
  readonly newServices: readonly AuditedRequest[];
}

/** Compares real agents with recorded ones. */
export function differences({ start, changes, newServices }: RequestsOfPhases, realAgents: number, recordedAgents: number): Deviation[] {
  const real = Array.from({ length: realAgents }, (_, index) => isOfRealAgent(index));
  const compare = (requests: readonly AuditedRequest[], tolerance: number): Deviation[] => {
    const ofAgents = requests.filter((request) => programOf(request).startsWith('herald-agent') && request.code < 400);
    return deviations(
      { agents: realAgents, requests: ofAgents.filter((request) => real.some((is) => is(request))) },
      { agents: recordedAgents, requests: ofAgents.filter(({ source }) => source === recordedAddress) },
      tolerance,
    );
  };
  const reads = (requests: readonly AuditedRequest[]): AuditedRequest[] => requests.filter((request) => !isWrite(request));
  return [
    ...compare(reads(start), sameReads),
    ...compare(start.filter(isWrite), writesOfStart),
    ...compare(reads(changes), sameReads),
    ...compare([...changes, ...newServices].filter(isWrite), writesOfServices),
  ];
}

function perAgent({ agents, requests }: RequestsOfAgents): Map<string, number> {
  const counts = new Map<string, number>();
  for (const request of requests) {
    const shape = shapeOf(request);
    counts.set(shape, (counts.get(shape) ?? 0) + 1 / agents);
  }
  return counts;
}
