import type { LocalOpen } from '../../../src/bgp/negotiation/local-open.ts';
import type { PeerOptions } from '../../../src/bgp/index.ts';
import { decodeNotification, describeNotification } from '../../../src/bgp/wire/notification.ts';
import { address } from '../../../src/net/address.ts';
import type { Log } from '../../../src/system/log.ts';
import { messages } from './hex.ts';

/** Peer options of our speaker for a router at 10.0.0.1 that sends what the test scripts. */
export const routerOptions: PeerOptions = {
  name: 'tor',
  address: address('10.0.0.1'),
  localAsn: 64512,
  peerAsn: 65001,
  routerId: address('10.0.0.2'),
  holdTime: 9,
};

/** The parameters of that router for its own OPEN. */
export const routerIdentity: LocalOpen = { localAsn: 65001, peerAsn: 64512, routerId: 7, holdTime: 90, families: [4], overIpv6: false };

/** Returns the NOTIFICATIONs among messages, in words. */
export function notificationsIn(bytes: Uint8Array): string[] {
  return messages(bytes)
    .filter(({ type }) => type === 3)
    .map(({ body }) => describeNotification(decodeNotification(body)));
}

/** Returns a log that appends each line as `message {"fields":...}`. */
export function logInto(lines: string[]): Log {
  const write = (fields: object, message: string): void => void lines.push(`${message} ${JSON.stringify(fields)}`);
  return { debug: write, info: write, warn: write, error: write };
}
