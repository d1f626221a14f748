import type { Verdict } from '../../decisions/verdict/verdict.ts';

/** Why a Service is not served as it should be. Plain data. */
export interface ServiceProblem {
  readonly code: string;
  /** The cause and the fix. */
  readonly line: string;
  /** The object that the fix changes: "IPAddressPool/public". */
  readonly cause?: string;
  /** Absent: only the recorded condition is known. */
  readonly outcome?: Verdict['outcome'];
}

/** One problem, however many objects have it. Plain data. */
export interface Problem {
  /** The first object that has it: "Service/shop/web", "Node/n1", "BGPPeer/tor1". A file when the object is unknown. */
  readonly object: string;
  readonly code: string;
  /** The cause and the fix. */
  readonly line: string;
  /** Other objects with the same problem. Absent: none. */
  readonly others?: readonly string[];
}
