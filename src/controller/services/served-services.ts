import { isOtherClass } from '../../decisions/allocation/claim.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import type { Ingress, Service } from '../../model/objects/service.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { sameAddress, type Address } from '../../net/address.ts';
import type { CompleteProvider } from '../complete-provider.ts';
import type { Urgency } from '../provider-parts.ts';
import type { RecordedStatus } from '../status-writer.ts';

/** A Service as it was when a provider last served it. */
export interface Served {
  readonly provider: CompleteProvider;
  readonly service: Service;
  readonly ingress: readonly Ingress[];
}

/** Remembers which provider serves which Service, and for which Services Herald has written a status. */
export class ServedServices {
  readonly #providers: readonly CompleteProvider[];
  readonly #served = new Map<ServiceKey, Served>();
  /** Services with a status that this controller, or an earlier one, wrote. */
  readonly #written = new Set<ServiceKey>();

  constructor(providers: readonly CompleteProvider[]) {
    this.#providers = providers;
  }

  /** Takes over the records. A recorded Service is served from the start, even if HeraldConfig now gives it to another controller. */
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

  /** Returns how the Service of this name was served last, even if another Service has the name now. */
  get(key: ServiceKey): Served | undefined {
    return this.#served.get(key);
  }

  /** Returns how this Service was served last; undefined when that was an earlier Service of the same name. */
  lastServed(key: ServiceKey, { metadata }: Service): Served | undefined {
    const before = this.#served.get(key);
    return before?.service.metadata.uid === metadata.uid ? before : undefined;
  }

  recordServed(key: ServiceKey, served: Served): void {
    this.#served.set(key, served);
  }

  /** Forgets how the Service was served, but not that its status was written. */
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

  /** The provider that claims the Service, if any. */
  claimant(service: Service, snapshot: Snapshot): CompleteProvider | undefined {
    return this.#providers.find((provider) => provider.claim(service, snapshot).mine);
  }

  /** The providers that hold something for the Service, whichever serves it now. */
  holders(key: ServiceKey, service: Service | undefined): CompleteProvider[] {
    return this.#providers.filter((provider) => provider.holds(key, service));
  }

  /** Returns how urgent a reconcile of the Service is when it may call an API outside the cluster; undefined when it calls none. */
  remoteUrgency(key: ServiceKey, snapshot: Snapshot): Urgency | undefined {
    const service = snapshot.services.get(key);
    return this.#providers
      .find(
        (provider) =>
          provider.remote === true && (provider.holds(key, service) || (service !== undefined && provider.claim(service, snapshot).mine)),
      )
      ?.urgencyOf(key, service);
  }

  /** The provider of a recorded Service: the one that claims it, or the one that would under another HeraldConfig. */
  claimantByRecord(key: ServiceKey, snapshot: Snapshot): CompleteProvider | undefined {
    const service = snapshot.services.get(key);
    const claims = service === undefined ? [] : this.#providers.map((provider) => ({ provider, claim: provider.claim(service, snapshot) }));
    const other = claims.find(({ claim }) => !claim.mine && isOtherClass(claim.reason));
    return (claims.find(({ claim }) => claim.mine) ?? other)?.provider;
  }
}

/** Returns the addresses of `before` that are not in `now`. */
export function goneAddresses(before: readonly Ingress[], now: readonly Ingress[]): Address[] {
  return addressesIn(before).filter((address) => !addressesIn(now).some((other) => isSame(address, other)));
}

function addressesIn(ingress: readonly Ingress[]): Address[] {
  return ingress.flatMap(({ address }) => address ?? []);
}

function isSame(a: Address, b: Address | undefined): boolean {
  return b !== undefined && sameAddress(a, b);
}
