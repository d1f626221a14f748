import type { ServiceKey } from '../model/objects/metadata.ts';
import type { Clock } from '../system/clock.ts';
import type { Log } from '../system/log.ts';
import type { Random } from '../system/random.ts';
import type { Provider } from './provider.ts';
import { partMethods } from './provider-parts.ts';

/** What a module that `herald controller --provider` loads is made of: the public face of the provider contract, `herald/provider`. */
export type { Claim, Provider, Reconciliation, Released } from './provider.ts';
export type {
  AddressPools,
  ChangeListener,
  PartName,
  PeriodicWork,
  Preview,
  Previewable,
  RecordedAddresses,
  Recovery,
  ResourceHolder,
} from './provider-parts.ts';
export type { ServiceKey } from '../model/objects/metadata.ts';
export type { Ingress, Service, ServicePort } from '../model/objects/service.ts';
export type { Node } from '../model/objects/cluster.ts';
export type { Change, Snapshot } from '../model/store/snapshot.ts';
export type { Address } from '../net/address.ts';
export type { Clock } from '../system/clock.ts';
export type { Log } from '../system/log.ts';
export { serviceKey } from '../model/objects/metadata.ts';
export { reason, type Reason } from '../model/reasons.ts';
export { formatAddress, parseAddress } from '../net/address.ts';

/** What a provider gets of the process. All time and chance are from here, so that the checks can play them. */
export interface ProviderComponents {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Aborts when the process is to end. */
  readonly stopped: AbortSignal;
  /** The environment of the process, where credentials usually are. */
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** False: another controller may have taken over. To be asked before each write to the outside. */
  readonly mayWrite: () => boolean;
  /** Absent: nothing can be written to Services (standalone). The name is that of the provider's finalizer, as `example.com/balancers`. */
  readonly serviceMetadata?: (finalizer: string) => ServiceMetadata;
}

/** What a provider keeps on the Service itself. That the Service is gone is an error of `addFinalizer` alone. */
export interface ServiceMetadata {
  /** Resolves when the finalizer is on the Service. Doing so again is free. Rejects where the Service is gone: nothing may be made for it. */
  addFinalizer(service: ServiceKey): Promise<void>;
  removeFinalizer(service: ServiceKey): Promise<void>;
  /** Sets annotations; undefined removes one. Resolves to false where somebody has written to the Service in between: then nothing is written. */
  annotate(service: ServiceKey, annotations: Readonly<Record<string, string | undefined>>): Promise<boolean>;
}

/** The export `createProvider` of such a module. It is called once, when this controller leads; where it rejects, the process ends. */
export type CreateProvider = (components: ProviderComponents) => Provider | Promise<Provider>;

/**
 * Names the methods that an object lacks to be a provider: those that every provider has, and the others of each optional part that it
 * has one of.
 */
export function missingMethods(provider: object): string[] {
  const lacks = (method: string): boolean => typeof (provider as Readonly<Record<string, unknown>>)[method] !== 'function';
  const ofParts = Object.values(partMethods).filter((methods: readonly string[]) => !methods.every(lacks));
  return [...requiredMethods, ...ofParts.flat()].filter(lacks);
}

const requiredMethods = ['claim', 'reconcile', 'release'] as const satisfies readonly (keyof Provider)[];
