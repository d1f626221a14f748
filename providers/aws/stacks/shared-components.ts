import type { Log } from '../../../src/system/log.ts';
import type { AwsAccount } from './aws-account.ts';
import type { DepartedServices } from './departed-services.ts';
import type { StackRegistry } from './stack-registry.ts';

/** What the reconcilers of Services, stacks and node rules share. */
export interface SharedComponents {
  readonly account: AwsAccount;
  readonly registry: StackRegistry;
  readonly departed: DepartedServices;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly log: Log;
}
