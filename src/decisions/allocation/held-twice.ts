import { formatAddress, type Address } from '../../net/address.ts';
import { serviceKey, type ServiceKey } from '../../model/objects/metadata.ts';
import { reason, type Reason } from '../../model/reasons.ts';
import { haveSameSharingKey, type Service } from '../../model/objects/service.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { decideAllocationClaim } from './claim.ts';

/**
 * Why an address that the Service has on record is not its own: another one of ours has it on record as well, and they do not have one sharing key. That
 * is what two controllers that both think they lead can leave behind (docs/adr/0014), or a person who edits a status. All who see the same objects
 * say the same, whoever asks and when (docs/adr/0006), so at most one of the two is announced and forwarded. Undefined: it is its own.
 *
 * Only the key counts, and not all the rules of sharing: who shared by others' rules, or changed its own since, is no accident, and is told
 * by the condition AddressAssigned while it stays where it is.
 */
export function whyHeldTwice(snapshot: Snapshot, service: Service, address: Address): Reason | undefined {
  const key = serviceKey(service.metadata);
  const others = snapshot.holdersOf(address).filter((other) => other !== key);
  if (others.length === 0 || !decideAllocationClaim(service, snapshot.config).mine) return undefined;
  const holders = others
    .flatMap((other) => snapshot.services.get(other) ?? [])
    .filter((other) => decideAllocationClaim(other, snapshot.config).mine);
  const [first] = [service, ...holders].sort(byPrecedence);
  if (first === undefined || first === service || haveSameSharingKey(first, service)) return undefined;
  return reason('AddressHeldTwice', { address: formatAddress(address), by: serviceKey(first.metadata) });
}

/** Of Services that cannot all have an address, the order in which they are considered. */
export function inOrderOfPrecedence({ services }: Snapshot): Service[] {
  return [...services.values()].sort(byPrecedence);
}

/**
 * Who was told that he has it no longer, as he gave up to share it, comes last; else the older comes first, as it is he who had it; who does not say how
 * old he is counts as young. The API server sets the time of creation, so nobody can make himself older.
 */
function byPrecedence(a: Service, b: Service): number {
  const [one, other] = [precedence(a), precedence(b)];
  return one === other ? 0 : one < other ? -1 : 1;
}

function precedence({ addressTaken, metadata }: Service): `${0 | 1} ${string} ${ServiceKey}` {
  return `${addressTaken === true ? 1 : 0} ${metadata.creationTimestamp === '' ? '~' : metadata.creationTimestamp} ${serviceKey(metadata)}`;
}
