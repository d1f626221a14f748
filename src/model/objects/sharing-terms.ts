import type { Service } from './service.ts';

/** The parts of a Service or of a request that decide whether nodes can serve it beside another one at one address. */
interface SharingParty {
  readonly sharingKey?: string;
  readonly ports: readonly { readonly protocol: string; readonly port: number }[];
}

/** True when both ask to share addresses under the same key. */
export function haveSameSharingKey(a: Pick<SharingParty, 'sharingKey'>, b: Pick<SharingParty, 'sharingKey'>): boolean {
  return a.sharingKey !== undefined && a.sharingKey !== '' && a.sharingKey === b.sharingKey;
}

/** Returns the first port that both have, as "80/TCP". Undefined when they have none in common. */
export function commonPort(a: SharingParty, b: SharingParty): string | undefined {
  const port = a.ports.find((one) => b.ports.some((other) => one.protocol === other.protocol && one.port === other.port));
  return port === undefined ? undefined : portText(port);
}

/** True when nodes can serve both at one address: they have one sharing key and no port in common. */
export function canServeTogether(a: SharingParty, b: SharingParty): boolean {
  return haveSameSharingKey(a, b) && commonPort(a, b) === undefined;
}

const assigned = 'The Service has the addresses it asks for';
const sharing = `${assigned} and may share them: `;
const maxTermsText = 1000;

/**
 * Returns the message of condition AddressAssigned when it is True. It contains the terms of sharing, so that the record tells whether they
 * changed since the controller decided (docs/adr/0028).
 */
export function assignedMessage(service: SharingParty): string {
  const terms = termsOf(service);
  return terms === undefined ? assigned : `${sharing}${terms}`;
}

/** Returns the terms of sharing in a message that `assignedMessage` wrote. Undefined when it has none. */
export function termsInMessage(message: string): string | undefined {
  return message.startsWith(sharing) ? message.slice(sharing.length) : undefined;
}

/** True when the record shows other terms of sharing than the Service has now: its owner changed them, and no decision followed yet. */
export function changedSinceDecision(service: Pick<Service, 'recordedTerms' | 'ports'> & SharingParty): boolean {
  const { recordedTerms } = service;
  return recordedTerms !== undefined && recordedTerms !== termsOf(service);
}

/** Example: `key "web", ports 443/TCP, 80/TCP`. Undefined when the Service shares with none. */
function termsOf({ sharingKey, ports }: SharingParty): string | undefined {
  if (sharingKey === undefined || sharingKey === '') return undefined;
  const text = `key ${JSON.stringify(sharingKey)}, ports ${ports.map(portText).toSorted().join(', ')}`;
  return text.length <= maxTermsText ? text : text.slice(0, maxTermsText);
}

function portText({ protocol, port }: { readonly protocol: string; readonly port: number }): string {
  return `${port}/${protocol}`;
}
