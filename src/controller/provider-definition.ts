import type { Pod } from '../model/objects/pod.ts';
import type { ProviderTables } from '../model/provider-tables.ts';
import type { Parsed } from '../net/parsed.ts';
import type { PodGate } from '../sources/kubernetes/records/pod-gates.ts';
import type { Clock } from '../system/clock.ts';
import type { Log } from '../system/log.ts';
import type { Random } from '../system/random.ts';
import type { Meter, MetricTable } from '../telemetry/declaration.ts';
import type { Provider } from './provider.ts';
import type { Previewable, ResourceHolder, ServiceMetadata } from './provider-parts.ts';

export { workBuckets, type MetricDeclaration, type Meter, type MetricTable } from '../telemetry/declaration.ts';

/** The values of a command's options, by the name of the flag in camel case. */
export type OptionValues = Readonly<Record<string, unknown>>;

/** An option that a provider adds to the commands that use it. */
export interface ProviderOption {
  /** `--acme-region <region>`. */
  readonly flags: string;
  readonly description: string;
  readonly choices?: readonly string[];
  readonly default?: unknown;
  /** How the help shows the default. */
  readonly defaultText?: string;
  readonly required?: true;
  /** Absent: the text is the value. A problem is a sentence that says what to write. */
  readonly parse?: (text: string) => Parsed<unknown>;
}

/** A command of a provider: `herald NAME`, or `herald NAME SUBCOMMAND`. */
export interface ProviderCommand {
  readonly name: string;
  readonly description: string;
  /** Follows the options in the help: an example. */
  readonly help?: string;
  readonly options?: readonly ProviderOption[];
  readonly commands?: readonly ProviderCommand[];
  /** Absent: the command only has subcommands. */
  readonly run?: (options: OptionValues, output: { readonly print: (line: string) => void }) => void | Promise<void>;
}

/** The commands that take the options of providers. */
export type ExtendedCommand = 'controller' | 'explain' | 'plan' | 'ui';

/**
 * Parts that a provider brings, beside itself: all are optional except its name. Loading it must be cheap, because every process does so at
 * its start: it imports no client of its API.
 */
export interface ProviderDefinition<T extends MetricTable = MetricTable> extends ProviderTables {
  readonly metrics?: T;
  readonly options?: readonly ProviderOption[];
  /** True when these options enable the provider. Absent: it always is. */
  readonly isEnabled?: (options: OptionValues) => boolean;
  /** Lines for the examples in the help of commands. */
  readonly examples?: Partial<Readonly<Record<ExtendedCommand, string>>>;
  readonly commands?: Readonly<Record<string, () => Promise<ProviderCommand>>>;
}

/** The parts of the process that a provider which ships with Herald uses. */
export interface LoadRequest<T extends MetricTable = MetricTable> {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly stopped: AbortSignal;
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** Herald's version. */
  readonly version: string;
  readonly options: OptionValues;
  /** Absent: nothing is measured. */
  readonly meter?: Meter<T>;
  /** Without `serviceMetadata` Services cannot be written. Without `mayWrite` and `leadershipSignal` no other process writes. */
  readonly leader: {
    readonly serviceMetadata?: (finalizer: string) => ServiceMetadata;
    readonly readPod?: (namespace: string, name: string) => Promise<Pod | undefined>;
    readonly openPodGate?: (pod: PodGate, because: { readonly reason: string; readonly message: string }) => Promise<void>;
    readonly mayWrite?: () => boolean;
    readonly leadershipSignal?: AbortSignal;
  };
}

/** Decides as a provider would, without its API. */
export interface ClaimingProvider extends Pick<Provider, 'name' | 'claim'>, Partial<ResourceHolder & Previewable> {
  /** Why it claims a Service without a class, as a sentence. */
  readonly whyClassless?: (service: Parameters<Provider['claim']>[0]) => string;
}

/** A provider that ships with Herald. */
export interface ShippedProvider<T extends MetricTable = MetricTable> extends ProviderDefinition<T> {
  readonly shipped: true;
  /** Loads the provider, or nothing when the options do not enable it. */
  load(request: LoadRequest<T>): Promise<readonly Provider[]>;
  /** Returns what the provider claims, whether the options enable it or not. */
  claimant(options: OptionValues): Promise<ClaimingProvider>;
}
