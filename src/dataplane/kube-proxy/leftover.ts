import type { CommandLine, CommandOutcome } from '../run-command.ts';

/**
 * Runs a command to its end. Undefined: it is not installed. Rejects with DataplaneError when it could not run to its end for another
 * reason.
 */
export type RunCommand = (command: CommandLine, input?: string) => Promise<CommandOutcome | undefined>;

/** An object of kube-proxy, and the command that removes it. */
export interface Leftover {
  readonly what: string;
  readonly remove: CommandLine;
  readonly input?: string;
}

export interface Search {
  readonly found: readonly Leftover[];
  readonly kept: readonly string[];
  /** Objects that cannot be inspected. */
  readonly unknown: readonly string[];
}
