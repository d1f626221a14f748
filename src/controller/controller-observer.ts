import type { Condition } from '../model/objects/condition.ts';
import type { ServiceKey } from '../model/objects/metadata.ts';
import type { Reconciliation } from './provider.ts';

/** Who measures what a controller does. It is called in the middle of the work: it must be quick, and must not throw. */
export interface ControllerObserver {
  /** What a provider said of a Service; undefined: it could not, and is asked again. */
  reconciled(provider: string, outcome: Reconciliation | undefined, milliseconds: number): void;
  /** The conditions of a Service are on record; `details`: which pools said no. */
  conditionsWritten(key: ServiceKey, conditions: readonly Condition[], details: NonNullable<Reconciliation['details']>): void;
  /** The Service is not ours any more, or is gone. */
  serviceRemoved(key: ServiceKey): void;
  /** Work on a key has ended; `retried`: somebody wrote in between. */
  reconcileFinished(queue: QueueName, result: 'done' | 'retried' | 'failed'): void;
}

export type QueueName = 'services' | 'configuration';

/** How things are with a queue at this moment. */
export interface QueueFigures {
  /** Keys that wait for their turn, and those at work. */
  readonly depth: number;
  /** Keys that failed and wait to be tried again. */
  readonly retries: number;
  /** How long the longest work that is going on has taken so far; 0: there is none. */
  readonly longestMilliseconds: number;
}

export const noControllerObserver: ControllerObserver = {
  reconciled: ignore,
  conditionsWritten: ignore,
  serviceRemoved: ignore,
  reconcileFinished: ignore,
};

function ignore(): void {
  // Nobody measures.
}
