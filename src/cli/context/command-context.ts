import type { Command } from 'commander';
import type { Provider } from '../../controller/provider.ts';
import type { ClaimingProvider, OptionValues } from '../../controller/provider-definition.ts';
import type { Clock } from '../../system/clock.ts';
import type { Log } from '../../system/log.ts';
import type { Random } from '../../system/random.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import type { StopSignals } from './stop-signals.ts';
import type { LeaderContext } from './storage.ts';

export interface ProviderRequest {
  readonly log: Log;
  /** Without `serviceMetadata` Services cannot be written. Without `mayWrite` and `leadershipSignal` no other process writes. */
  readonly leader: Pick<LeaderContext, 'serviceMetadata' | 'readPod' | 'openPodGate' | 'mayWrite' | 'leadershipSignal'>;
  /** Absent: nothing is measured. */
  readonly metrics?: Metrics;
  /** The options of providers. Absent: the command has none. */
  readonly options?: OptionValues;
  /** Paths of provider modules. */
  readonly modules?: readonly string[];
}

type ClaimRequest = Pick<ProviderRequest, 'modules'> & Required<Pick<ProviderRequest, 'options'>>;

/** The parts of the process that a command may use. The composition root provides them. */
export interface CommandContext extends StopSignals {
  readonly clock: Clock;
  readonly random: Random;
  /** The log of a command that keeps running. It is written to standard output. */
  readonly log: (level: string, format?: 'json' | 'text') => Promise<Log>;
  /** Writes one line to standard output. */
  readonly print: (line: string) => void;
  /** Writes octets to standard output. Resolves when there is room for more. */
  readonly write: (octets: Uint8Array) => Promise<void>;
  /** True when standard output is a terminal, which can be redrawn. Absent: it is not. */
  readonly isTerminal?: boolean;
  /** Writes one line to standard error. */
  readonly printError: (line: string) => void;
  /** Returns all of standard input. */
  readonly readInput: () => Promise<string>;
  /** Sets the exit status of a command that succeeds. The default is 0. */
  readonly setExitStatus: (status: number) => void;
  readonly hostname: string;
  /** The version of Node.js. */
  readonly nodejs: string;
  /** The environment variables of the process. */
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** Returns the providers that serve Services, in the order in which they are asked to claim a Service. */
  readonly providers: (needs: ProviderRequest) => Promise<readonly Provider[]>;
  /**
   * Returns every provider that can claim a Service, including those that the command has not enabled and those of modules. They write
   * nothing.
   */
  readonly claims: (needs: ClaimRequest) => Promise<readonly ClaimingProvider[]>;
}

/** Makes a command. The context is not used before the command runs. */
export type MakeCommand = (context: CommandContext) => Command;

/** Follows every message about a mistake on the command line. */
export const hint = '(herald --help lists the commands; herald COMMAND --help shows an example)';

/** A command cannot do what was asked, for a reason that the user can fix. It is printed without a stack trace. */
export class UsageError extends Error {
  /** exit-status.ts has the statuses that mean the same for every command. */
  readonly exitCode: number;

  constructor(message: string, exitCode = 1) {
    super(message);
    this.name = 'UsageError';
    this.exitCode = exitCode;
  }
}

/** Writes a value as a document of JSON for people and programs. */
export function jsonText(value: unknown): string {
  return JSON.stringify(value, undefined, 2);
}

/** Explains the failure of a write to a file that the command line names. */
export const cannotWrite =
  (file: string) =>
  (error: unknown): never => {
    throw new UsageError(`${file} cannot be written: ${(error as NodeJS.ErrnoException).code ?? String(error)}`);
  };
