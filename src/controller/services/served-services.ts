import type { ServiceKey } from '../../model/objects/metadata.ts';
import type { Ingress, Service } from '../../model/objects/service.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { sameAddress, type Address } from '../../net/address.ts';
import type { CompleteProvider } from '../complete-provider.ts';
import type { RecordedStatus } from '../status-writer.ts';

/** A Service that a provider serves, as it was when the provider did so last. */
export interface Served {
  readonly provider: CompleteProvider;
  readonly service: Service;
  readonly ingress: readonly Ingress[];
}

/** Which provider serves which Service, and which Services we have written about. */
export class ServedServices {
  readonly #providers: readonly CompleteProvider[];
  readonly #served = new Map<ServiceKey, Served>();
  /** By us, or by another of us before. */
  readonly #written = new Set<ServiceKey>();

  constructor(providers: readonly CompleteProvider[]) {
    this.#providers = providers;
  }

  /** What is on record is held from the beginning, also where HeraldConfig says by now that the Service is not ours. */
  adopt({ addresses, uids }: RecordedStatus, snapshot: Snapshot): void {
    for (const [key, held] of addresses) {
      this.#written.add(key);
      const service = snapshot.services.get(key);
      const provider = this.claimantByRecord(key, snapshot);
      if (service === undefined || provider === undefined) continue;
      const uid = uids?.get(key) ?? service.metadata.uid;
      // The snapshot may be older than the record.
      const known = addressesIn(service.ingress);
      const current = known.length === held.length && known.every((address, index) => isSame(address, held[index]));
      const ingress = current ? service.ingress : held.map((address) => ({ address, ipMode: 'VIP' as const }));
      this.#served.set(key, { provider, service: { ...service, metadata: { ...service.metadata, uid } }, ingress });
    }
  }

  /** How the Service was served last, whoever has its name by now. */
  get(key: ServiceKey): Served | undefined {
    return this.#served.get(key);
  }

  /** How the Service was served last; undefined where that was another one of its name, which is gone. */
  lastServed(key: ServiceKey, { metadata }: Service): Served | undefined {
    const before = this.#served.get(key);
    return before?.service.metadata.uid === metadata.uid ? before : undefined;
  }

  recordServed(key: ServiceKey, served: Served): void {
    this.#served.set(key, served);
  }

  /** It is not served any more; what was written is still there. */
  stopServing(key: ServiceKey): void {
    this.#served.delete(key);
  }

  markWritten(key: ServiceKey): void {
    this.#written.add(key);
  }

  isWritten(key: ServiceKey): boolean {
    return this.#written.has(key);
  }

  forgetService(key: ServiceKey): void {
    this.#served.delete(key);
    this.#written.delete(key);
  }

  /** Whose the Service is; undefined: nobody's here. */
  claimant(service: Service, snapshot: Snapshot): CompleteProvider | undefined {
    return this.#providers.find((provider) => provider.claim(service, snapshot).mine);
  }

  /** Who holds something for the Service, whoever serves it now. */
  holders(key: ServiceKey, service: Service | undefined): CompleteProvider[] {
    return this.#providers.filter((provider) => provider.holds(key, service));
  }

  /** Whether somebody outside of the cluster is asked when the Service is looked at. */
  isRemote(key: ServiceKey, snapshot: Snapshot): boolean {
    const service = snapshot.services.get(key);
    return this.#providers.some(
      (provider) =>
        provider.remote === true && (provider.holds(key, service) || (service !== undefined && provider.claim(service, snapshot).mine)),
    );
  }

  /** Whose a Service is of which only the record is known: also that of a provider whose it would be by another HeraldConfig. */
  claimantByRecord(key: ServiceKey, snapshot: Snapshot): CompleteProvider | undefined {
    const service = snapshot.services.get(key);
    const claims = service === undefined ? [] : this.#providers.map((provider) => ({ provider, claim: provider.claim(service, snapshot) }));
    const other = claims.find(({ claim }) => !claim.mine && claim.reason.code === 'OtherLoadBalancerClass');
    return (claims.find(({ claim }) => claim.mine) ?? other)?.provider;
  }
}

/** What of `before` is not in `now`. */
export function goneAddresses(before: readonly Ingress[], now: readonly Ingress[]): Address[] {
  return addressesIn(before).filter((address) => !addressesIn(now).some((other) => isSame(address, other)));
}

function addressesIn(ingress: readonly Ingress[]): Address[] {
  return ingress.flatMap(({ address }) => address ?? []);
}

function isSame(a: Address, b: Address | undefined): boolean {
  return b !== undefined && sameAddress(a, b);
}
