import type { Clock } from '../system/clock.ts';
import type { Log } from '../system/log.ts';
import type { Random } from '../system/random.ts';
import type { Meter, MetricTable } from '../telemetry/declaration.ts';
import type { Provider } from './provider.ts';
import { partMethods, type ServiceMetadata } from './provider-parts.ts';

/** The public face of the provider contract, `herald/provider`, for modules that `herald controller --provider` loads. */
export type { Claim, Provider, Reconciliation, Released } from './provider.ts';
export type {
  AddressPools,
  ChangeListener,
  OrderedWork,
  PartName,
  PeriodicWork,
  Preview,
  Previewable,
  RecordedAddresses,
  Recovery,
  ResourceHolder,
  ServiceMetadata,
  Urgency,
} from './provider-parts.ts';
export type { OptionValues, ProviderCommand, ProviderDefinition, ProviderOption } from './provider-definition.ts';
export { workBuckets, type Meter, type MetricDeclaration, type MetricTable } from '../telemetry/declaration.ts';
export type { ServiceKey } from '../model/objects/metadata.ts';
export type { Ingress, Service, ServicePort } from '../model/objects/service.ts';
export type { OutsideResource } from '../model/objects/outside-resource.ts';
export type { Node } from '../model/objects/cluster.ts';
export type { Change, Snapshot } from '../model/store/snapshot.ts';
export type { Address } from '../net/address.ts';
export type { Clock } from '../system/clock.ts';
export type { Log } from '../system/log.ts';
export { serviceKey } from '../model/objects/metadata.ts';
export { reason, reasonsOf, type Reason } from '../model/reasons.ts';
export { reasonEntry, userMistake, type ReasonEntry } from '../model/reasons/entry.ts';
export { boolean, choice, integer, list, object, parsed, text } from '../model/schema/fields.ts';
export { configPart } from '../model/schema/config-part.ts';
export { invalid, parsed as valid, type Parsed } from '../net/parsed.ts';
export { formatAddress, parseAddress } from '../net/address.ts';

/** The parts of the process that a provider uses. Time and randomness come only from here, so that the checks control them. */
export interface ProviderComponents<T extends MetricTable = MetricTable> {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Aborts when the process ends. */
  readonly stopped: AbortSignal;
  /** The environment variables of the process, which usually hold credentials. */
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** The values of the provider's options. Absent: the command has none. */
  readonly options?: Readonly<Record<string, unknown>>;
  /** Counts into the metrics of the provider's definition. Absent: nothing is measured. */
  readonly meter?: Meter<T>;
  /** False when another controller may have taken over. Check it before each write outside the cluster. */
  readonly mayWrite: () => boolean;
  /**
   * Absent when Services cannot be written to (standalone). The argument is the provider's finalizer, for example `example.com/balancers`.
   */
  readonly serviceMetadata?: (finalizer: string) => ServiceMetadata;
}

/** The export `createProvider` of a module. Called once, when this controller leads. If it rejects, the process ends. */
export type CreateProvider<T extends MetricTable = MetricTable> = (components: ProviderComponents<T>) => Provider | Promise<Provider>;

/**
 * Names the methods that an object lacks to be a provider: the required ones, and the missing ones of each optional part that it has begun.
 */
export function missingMethods(provider: object): string[] {
  const lacks = (method: string): boolean => typeof (provider as Readonly<Record<string, unknown>>)[method] !== 'function';
  const ofParts = Object.values(partMethods).filter((methods: readonly string[]) => !methods.every(lacks));
  return [...requiredMethods, ...ofParts.flat()].filter(lacks);
}

const requiredMethods = ['claim', 'reconcile', 'release'] as const satisfies readonly (keyof Provider)[];
