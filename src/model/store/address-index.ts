import { formatAddress, type Address } from '../../net/address.ts';
import type { ServiceKey } from '../objects/metadata.ts';
import { sameContent } from './same-content.ts';
import { assignedAddresses, type Service } from '../objects/service.ts';
import { canServeTogether } from '../objects/sharing-terms.ts';
import type { Snapshot } from './snapshot.ts';

const noServices: readonly ServiceKey[] = [];

/** Finds the Services that have an address, on record or in their spec, usually one. A lookup is cheap. */
export class AddressIndex {
  readonly #holders = new Map<string, ReadonlyMap<ServiceKey, Service>>();
  readonly #declared = new Map<string, readonly ServiceKey[]>();

  holdersOf(address: Address): readonly ServiceKey[] {
    const holders = this.#holders.get(formatAddress(address));
    return holders === undefined ? noServices : [...holders.keys()];
  }

  /** Returns the Services that have the address as ClusterIP or external IP. */
  declaredBy(address: Address): readonly ServiceKey[] {
    return this.#declared.get(formatAddress(address)) ?? noServices;
  }

  /**
   * Replaces one version of a Service with another. Returns the other Services that hold an address of either version and may be affected.
   */
  replace(key: ServiceKey, before: Service | undefined, after: Service | undefined): readonly ServiceKey[] {
    const [old, now] = [addressTexts(before), addressTexts(after)];
    for (const address of old) if (!now.has(address)) this.#setHolder(address, key, undefined);
    for (const address of now) this.#setHolder(address, key, after);
    this.#redeclare(key, declaredTexts(before), declaredTexts(after));
    if (sameContent(claimOn(before), claimOn(after))) return noServices;
    const others = new Map([...old, ...now].flatMap((address) => [...(this.#holders.get(address) ?? [])]));
    others.delete(key);
    const forms = [before, after].filter((form) => form !== undefined);
    // A Service that can be served beside all other holders, before and after, takes an address from none of them and gives none back.
    const isBeside = [...others.values()].every((other) => forms.every((form) => canServeTogether(form, other)));
    return isBeside ? noServices : [...others.keys()];
  }

  #redeclare(key: ServiceKey, before: ReadonlySet<string>, after: ReadonlySet<string>): void {
    for (const address of before.difference(after)) {
      const others = (this.#declared.get(address) ?? []).filter((other) => other !== key);
      if (others.length === 0) this.#declared.delete(address);
      else this.#declared.set(address, others);
    }
    for (const address of after.difference(before)) this.#declared.set(address, [...(this.#declared.get(address) ?? []), key]);
  }

  #setHolder(address: string, key: ServiceKey, service: Service | undefined): void {
    const holders = new Map(this.#holders.get(address));
    if (service === undefined) holders.delete(key);
    else holders.set(key, service);
    if (holders.size === 0) this.#holders.delete(address);
    else this.#holders.set(address, holders);
  }
}

function declaredTexts(service: Service | undefined): ReadonlySet<string> {
  return new Set(service === undefined ? [] : [...service.clusterIPs, ...service.externalIPs].map(formatAddress));
}

function addressTexts(service: Service | undefined): ReadonlySet<string> {
  return new Set((service === undefined ? [] : assignedAddresses(service)).map(formatAddress));
}

/** Builds the index for a fixed set of Services, as the lookups of a snapshot. */
export function addressLookups(services: ReadonlyMap<ServiceKey, Service>): Pick<Snapshot, 'holdersOf' | 'declaredBy'> {
  const index = new AddressIndex();
  for (const [key, service] of services) index.replace(key, undefined, service);
  return { holdersOf: (address) => index.holdersOf(address), declaredBy: (address) => index.declaredBy(address) };
}

/** Returns the fields that decide whether a Service has an address to itself. */
function claimOn(service: Service | undefined): object | undefined {
  if (service === undefined) return undefined;
  const { ingress, sharingKey, type, headless, loadBalancerClass, addressTaken, recordedTerms, ports, metadata } = service;
  const asked = { sharingKey, ports: ports.map(({ protocol, port }) => `${port}/${protocol}`) };
  return { ...asked, ingress, type, headless, loadBalancerClass, addressTaken, recordedTerms, created: metadata.creationTimestamp };
}
