import type { Identity } from '../../../src/bgp/negotiation/local-open.ts';
import type { PeerOptions } from '../../../src/bgp/index.ts';
import { decodeNotification, describeNotification } from '../../../src/bgp/wire/notification.ts';
import { address } from '../../../src/net/address.ts';
import type { Log } from '../../../src/system/log.ts';
import { messages } from './hex.ts';

/** A router at 10.0.0.1 that says what a test has it say, as our speaker is told of it. */
export const routerOptions: PeerOptions = {
  name: 'tor',
  address: address('10.0.0.1'),
  localAsn: 64512,
  peerAsn: 65001,
  routerId: address('10.0.0.2'),
  holdTime: 9,
};

/** The same one, as it says in its OPEN. */
export const routerIdentity: Identity = { localAsn: 65001, peerAsn: 64512, routerId: 7, holdTime: 90, families: [4], overIpv6: false };

/** The NOTIFICATIONs among messages that it was sent, in words. */
export function notificationsIn(bytes: Uint8Array): string[] {
  return messages(bytes)
    .filter(({ type }) => type === 3)
    .map(({ body }) => describeNotification(decodeNotification(body)));
}

/** Writes each line as `message {"fields":...}`. */
export function logInto(lines: string[]): Log {
  const write = (fields: object, message: string): void => void lines.push(`${message} ${JSON.stringify(fields)}`);
  return { debug: write, info: write, warn: write, error: write };
}
