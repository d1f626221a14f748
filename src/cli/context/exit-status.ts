import { CommanderError } from 'commander';
import { DataplaneError } from '../../dataplane/dataplane.ts';
import { KubeError } from '../../kube/error.ts';
import { SourceError } from '../../sources/source.ts';
import { UsageError } from './command-context.ts';

/**
 * Exit statuses that mean the same for every command. Commands with further results document their own: `herald plan` uses 2 and 3, for
 * example. A wrong command line has a status that no result has: EX_USAGE of sysexits.h.
 */
export const exitStatus = { error: 1, usage: 64 } as const;

interface Failure {
  readonly status: number;
  /** Printed to standard error. Absent: commander has printed it. */
  readonly message?: string;
}

/**
 * Returns the exit status of a command that threw an error which a user can act on. Undefined: the error is a bug, or the command was
 * stopped.
 */
export function failureOf(error: unknown): Failure | undefined {
  // Commander also throws to end after --help and --version.
  if (error instanceof CommanderError) return { status: error.exitCode === 0 ? 0 : exitStatus.usage };
  if (error instanceof UsageError) return { status: error.exitCode, message: error.message };
  if (error instanceof SourceError || error instanceof KubeError || error instanceof DataplaneError)
    return { status: exitStatus.error, message: error.message };
  return undefined;
}
