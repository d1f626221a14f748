import type { Condition } from '../model/objects/condition.ts';
import type { ServiceKey } from '../model/objects/metadata.ts';
import type { Reconciliation } from './provider.ts';

/** Measures what a controller does. It is called during the work, so it must be quick and must not throw. */
export interface ControllerObserver {
  /** A provider reconciled a Service. `outcome` undefined: it failed, and the controller retries. */
  reconciled(provider: string, outcome: Reconciliation | undefined, milliseconds: number): void;
  /** The conditions of a Service were written. `details`: why each pool refused. */
  conditionsWritten(key: ServiceKey, conditions: readonly Condition[], details: NonNullable<Reconciliation['details']>): void;
  /** The Service is gone or no longer Herald's. */
  serviceRemoved(key: ServiceKey): void;
  /** Work on a key has ended. `retried`: another client wrote meanwhile. */
  reconcileFinished(queue: QueueName, result: 'done' | 'retried' | 'failed'): void;
}

export type QueueName = 'services' | 'configuration';

/** The state of a queue now. */
export interface QueueFigures {
  /** Keys that wait and keys at work. */
  readonly depth: number;
  /** Keys that failed and wait for a retry. */
  readonly retries: number;
  /** Duration of the longest work in progress; 0 when there is none. */
  readonly longestMilliseconds: number;
}

export const noControllerObserver: ControllerObserver = {
  reconciled: ignore,
  conditionsWritten: ignore,
  serviceRemoved: ignore,
  reconcileFinished: ignore,
};

function ignore(): void {}
