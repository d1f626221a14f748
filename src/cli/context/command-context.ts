import type { Command } from 'commander';
import type { Provider } from '../../controller/provider.ts';
import type { Previewable, ResourceHolder } from '../../controller/provider-parts.ts';
import type { Clock } from '../../system/clock.ts';
import type { Log } from '../../system/log.ts';
import type { Random } from '../../system/random.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import type { AwsFlags } from '../options/aws-options.ts';
import type { StopSignals } from './stop-signals.ts';
import type { LeaderContext } from './storage.ts';

export interface ProviderRequest {
  readonly log: Log;
  /** Absent fields: Services cannot be written to, and nobody else writes. */
  readonly leader: Pick<LeaderContext, 'serviceMetadata' | 'mayWrite' | 'leadershipSignal'>;
  /** Absent: nothing is measured. */
  readonly metrics?: Metrics;
  /** Absent: the command has no options of AWS. */
  readonly aws?: AwsFlags;
  /** Paths of modules that give more of them. */
  readonly modules?: readonly string[];
}

export type ClaimingProvider = Pick<Provider, 'name' | 'claim'> & Partial<ResourceHolder & Previewable>;

interface ClaimRequest extends Pick<AwsFlags, 'awsClassless'> {
  /** Paths of modules that give more of them. */
  readonly modules?: readonly string[];
}

/** What a command gets from the composition root: everything of the process that it may use. */
export interface CommandContext extends StopSignals {
  readonly clock: Clock;
  readonly random: Random;
  /** The log of a command that runs on, on standard output. */
  readonly log: (level: string, format?: 'json' | 'text') => Promise<Log>;
  /** Writes one line of a command's answer. */
  readonly print: (line: string) => void;
  /** Writes octets of a command's answer. Resolves when there is room for more. */
  readonly write: (octets: Uint8Array) => Promise<void>;
  /** Whether the answer goes to a terminal, which can be redrawn; absent: it does not. */
  readonly isTerminal?: boolean;
  /** Writes one line beside the answer, to standard error. */
  readonly printError: (line: string) => void;
  /** All of standard input. */
  readonly readInput: () => Promise<string>;
  /** The exit status of a command that has answered; 0 unless it says otherwise. */
  readonly setExitStatus: (status: number) => void;
  readonly hostname: string;
  /** The version of Node.js. */
  readonly nodejs: string;
  /** Of the process's environment. */
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** Those that serve Services, in the order in which they are asked whose a Service is. */
  readonly providers: (needs: ProviderRequest) => Promise<readonly Provider[]>;
  /** Whose a Service is, by all that there are, also those that a command has not switched on, and those of modules. Nothing is written. */
  readonly claims: (needs: ClaimRequest) => Promise<readonly ClaimingProvider[]>;
}

/** Makes a command. The context is not used before the command runs. */
export type MakeCommand = (context: CommandContext) => Command;

/** Follows every mistake on the command line. */
export const hint = '(herald --help lists the commands; herald COMMAND --help shows an example)';

/** A command that cannot do what was asked, for a reason that the user can mend. Shown without a stack. */
export class UsageError extends Error {
  /** Undefined: that of any mistake on the command line. */
  readonly exitCode: number | undefined;

  constructor(message: string, exitCode?: number) {
    super(message);
    this.name = 'UsageError';
    this.exitCode = exitCode;
  }
}
