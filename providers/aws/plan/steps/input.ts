import type { Desired } from '../../model/desired.ts';
import type { Observed } from '../../model/observed.ts';
import type { LastTargetsRule } from './last-targets.ts';

/** Everything that a plan depends on. */
export interface PlanInput<D extends Desired | undefined = Desired | undefined> {
  readonly observed: Observed;
  /** Undefined: the stack must be deleted. */
  readonly desired: D;
  /** The key of the stack in tags. */
  readonly stack: string;
  readonly cluster: string;
  readonly vpcId: string;
  /** Zones by subnet id. */
  readonly zones: ReadonlyMap<string, string>;
  /** Returns the zone of a target id. Undefined: unknown, or outside of the VPC. */
  readonly zoneOf: (target: string) => string | undefined;
  readonly retireSeconds: number;
  /** How long targets stay when a Service has none any more. */
  readonly lastTargets: Omit<LastTargetsRule, 'now'>;
  /** Hostnames in the status of the stack's Services. */
  readonly published: readonly string[];
  /** Milliseconds since the epoch. */
  readonly now: number;
}
