import type { CheckLine, LiveReceivedRoute, NodeProbe, NodeUnprobed } from '../../live/contract.ts';
import type { RouterAnswer } from './router-answer.ts';

/** What an agent, or the client, answered. Without its last line the check was cut. */
export interface NodeCheck {
  readonly node: string;
  readonly lines: readonly CheckLine[];
}

/** passed: nothing wrong was seen. narrow: a hop passes less than the interface, and says so. unknown: silence that proves nothing. */
export type Judgement = 'passed' | 'failed' | 'narrow' | 'unknown';

/** A probe with its origin: the name of a node, or undefined for the host where the command runs. */
export interface JudgedProbe extends Omit<NodeProbe, 'type'> {
  readonly from?: string;
  readonly judgement: Judgement;
}

/** What a router answered about a prefix. */
export interface RouterCheck {
  readonly router: string;
  readonly prefix: string;
  readonly answer: RouterAnswer;
  /** Next hops that are on a link of nodes and of no Node of the cluster. Absent: none. */
  readonly foreign?: readonly string[];
}

/** A route to a prefix of the Service that a router sent to a node, which accepted it. So the router has one. */
export interface ReceivedPrefix {
  readonly node: string;
  readonly route: LiveReceivedRoute;
}

export interface Unchecked {
  readonly what: string;
  readonly why: string;
  readonly fix?: string;
}

export interface CheckInput {
  readonly service: string;
  readonly nodes: readonly NodeCheck[];
  /** All nodes that should answer. */
  readonly expected: readonly string[];
  /** Addresses of the Service for clients outside, as text. Probes of others say nothing of them. */
  readonly external: ReadonlySet<string>;
  /** Connections from where the command runs. Absent: none were tried. */
  readonly client?: readonly (NodeProbe | NodeUnprobed)[];
  readonly routers: readonly RouterCheck[];
  readonly received: readonly ReceivedPrefix[];
  readonly unchecked: readonly Unchecked[];
  /** The Service has an endpoint that takes connections. */
  readonly hasEndpoints: boolean;
}

/**
 * The result of a check. failed: something that was tried does not work. incomplete: nothing failed, but not every node was checked to the
 * end. unchecked: nothing was tried.
 */
export type CheckOutcome = 'passed' | 'failed' | 'incomplete' | 'unchecked';

export interface CheckReport {
  readonly service: string;
  readonly outcome: CheckOutcome;
  /** One line in plain words. */
  readonly verdict: string;
  /** Nodes that were checked to the end, and all that should have been. */
  readonly checked: readonly string[];
  readonly expected: readonly string[];
  readonly probes: readonly JudgedProbe[];
  readonly routers: readonly RouterCheck[];
  readonly received: readonly ReceivedPrefix[];
  readonly unchecked: readonly Unchecked[];
}
