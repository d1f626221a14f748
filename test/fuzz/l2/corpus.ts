import { address } from '../../../src/net/address.ts';
import type { Mac } from '../../../src/l2/wire/mac.ts';
import { advertisement, arpRequest, client, mac, patched, solicitation, vip, vip6, withChecksum } from '../../../src/l2/test/frames.ts';
import { macOf } from '../../../src/l2/test/segment-bed.ts';

/** The MAC addresses that mean something to a node: a client, a host with an address of ours, itself, another node. */
export const senders: readonly Mac[] = [client, mac('02:00:00:00:00:66'), macOf(0), macOf(1)];

/** A nonce (RFC 3971 5.3.2), which the codec skips, before a source link-layer address. */
const withNonce = (): Uint8Array => {
  const frame = solicitation();
  const longer = new Uint8Array(frame.length + 16);
  longer.set(frame);
  longer.set([14, 1, 1, 2, 3, 4, 5, 6, 1, 1, 2, 0, 0, 0, 0, 0x99], frame.length);
  return withChecksum(patched(longer, { 19: 40 }));
};

/** Valid frames of every kind, from each sender. */
export const corpus: readonly Uint8Array[] = [
  withNonce(),
  ...senders.flatMap((from) => [
    arpRequest({ etherSource: from, senderMac: from }),
    arpRequest({ etherSource: from, senderMac: from, etherDestination: macOf(0) }),
    arpRequest({ etherSource: from, senderMac: from, sender: address('0.0.0.0') }),
    arpRequest({ etherSource: from, senderMac: from, sender: vip }),
    arpRequest({ etherSource: from, senderMac: from, sender: vip, operation: 'reply' }),
    solicitation({ etherSource: from, sourceLink: from }),
    solicitation({ etherSource: from, source: address('::') }),
    solicitation({ etherSource: from, destination: vip6, etherDestination: macOf(0) }),
    advertisement({ etherSource: from, targetLink: from }),
    advertisement({ etherSource: from, targetLink: from, override: false, router: true }),
    advertisement({
      etherSource: from,
      targetLink: from,
      solicited: true,
      destination: address('2001:db8::1'),
      etherDestination: macOf(0),
    }),
  ]),
];
