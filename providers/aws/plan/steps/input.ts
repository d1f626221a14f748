import type { Desired } from '../../model/desired.ts';
import type { Observed } from '../../model/observed.ts';

/** Everything that a plan depends on. */
export interface PlanInput<D extends Desired | undefined = Desired | undefined> {
  readonly observed: Observed;
  /** Undefined: nothing shall be left of the stack. */
  readonly desired: D;
  /** Its name in tags. */
  readonly stack: string;
  readonly cluster: string;
  readonly vpcId: string;
  /** Of subnets: their zones. */
  readonly zones: ReadonlyMap<string, string>;
  /** Of targets, by their ids: the zone; undefined: not known, or outside of the VPC. */
  readonly zoneOf: (target: string) => string | undefined;
  readonly retireSeconds: number;
  /** Names by which clients are told to reach its Services, in their status. */
  readonly published: readonly string[];
  /** Milliseconds since the epoch. */
  readonly now: number;
}
