import type { ServiceKey } from '../model/objects/metadata.ts';
import type { Clock } from '../system/clock.ts';
import type { Log } from '../system/log.ts';
import type { Random } from '../system/random.ts';
import type { Provider } from './provider.ts';
import { partMethods } from './provider-parts.ts';

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
  Urgency,
} from './provider-parts.ts';
export type { ServiceKey } from '../model/objects/metadata.ts';
export type { Ingress, Service, ServicePort } from '../model/objects/service.ts';
export type { OutsideResource } from '../model/objects/outside-resource.ts';
export type { Node } from '../model/objects/cluster.ts';
export type { Change, Snapshot } from '../model/store/snapshot.ts';
export type { Address } from '../net/address.ts';
export type { Clock } from '../system/clock.ts';
export type { Log } from '../system/log.ts';
export { serviceKey } from '../model/objects/metadata.ts';
export { reason, type Reason } from '../model/reasons.ts';
export { formatAddress, parseAddress } from '../net/address.ts';

/** The parts of the process that a provider uses. Time and randomness come only from here, so that the checks control them. */
export interface ProviderComponents {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Aborts when the process ends. */
  readonly stopped: AbortSignal;
  /** The environment variables of the process, which usually hold credentials. */
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** False when another controller may have taken over. Check it before each write outside the cluster. */
  readonly mayWrite: () => boolean;
  /**
   * Absent when Services cannot be written to (standalone). The argument is the provider's finalizer, for example `example.com/balancers`.
   */
  readonly serviceMetadata?: (finalizer: string) => ServiceMetadata;
}

/** Writes the provider's data on the Service. Only `addFinalizer` treats a Service that is gone as an error. */
export interface ServiceMetadata {
  /**
   * Resolves when the finalizer is on the Service. Repeating it is free. Rejects when the Service is gone: then nothing may be created for
   * it.
   */
  addFinalizer(service: ServiceKey): Promise<void>;
  removeFinalizer(service: ServiceKey): Promise<void>;
  /** Sets annotations; undefined removes one. Resolves to false, without writing, when another client changed the Service meanwhile. */
  annotate(service: ServiceKey, annotations: Readonly<Record<string, string | undefined>>): Promise<boolean>;
}

/** The export `createProvider` of a module. Called once, when this controller leads. If it rejects, the process ends. */
export type CreateProvider = (components: ProviderComponents) => Provider | Promise<Provider>;

/**
 * Names the methods that an object lacks to be a provider: the required ones, and the missing ones of each optional part that it has begun.
 */
export function missingMethods(provider: object): string[] {
  const lacks = (method: string): boolean => typeof (provider as Readonly<Record<string, unknown>>)[method] !== 'function';
  const ofParts = Object.values(partMethods).filter((methods: readonly string[]) => !methods.every(lacks));
  return [...requiredMethods, ...ofParts.flat()].filter(lacks);
}

const requiredMethods = ['claim', 'reconcile', 'release'] as const satisfies readonly (keyof Provider)[];
