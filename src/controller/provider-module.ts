import type { ServiceKey } from '../model/metadata.ts';
import type { Clock } from '../system/clock.ts';
import type { Log } from '../system/log.ts';
import type { Random } from '../system/random.ts';
import type { Provider } from './provider.ts';

/** What a module that `herald controller --provider` loads is made of: the public face of the provider contract, `herald/provider`. */
export type { Claim, Preview, Provider, Reconciliation, RecordedAddresses, Released } from './provider.ts';
export type { ServiceKey } from '../model/metadata.ts';
export type { Ingress, Service, ServicePort } from '../model/service.ts';
export type { Node } from '../model/cluster.ts';
export type { Change, Snapshot } from '../model/snapshot.ts';
export type { Address } from '../net/address.ts';
export type { Clock } from '../system/clock.ts';
export type { Log } from '../system/log.ts';
export { serviceKey } from '../model/metadata.ts';
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

/** The methods that every provider has. */
export const providerMethods = [
  'claim',
  'adopt',
  'adoptOne',
  'withhold',
  'reconcile',
  'written',
  'leave',
  'release',
  'holds',
  'expire',
  'affected',
] as const satisfies readonly (keyof Provider)[];
