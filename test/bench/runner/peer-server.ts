import { createServer, type Server } from 'node:net';
import { maximumExtendedMessageLength } from '../../../src/bgp/limits.ts';
import { localOpenMessage } from '../../../src/bgp/negotiation/local-open.ts';
import { messageType } from '../../../src/bgp/wire/codes.ts';
import { Framer } from '../../../src/bgp/wire/framer.ts';
import { keepaliveMessage } from '../../../src/bgp/wire/header.ts';
import { encodeOpen } from '../../../src/bgp/wire/open.ts';
import { decodeUpdate } from '../../../src/bgp/wire/update.ts';
import { address } from '../../../src/net/address.ts';

type Update = Extract<ReturnType<typeof decodeUpdate>, { readonly ok: true }>['value'];

interface Autonomous {
  readonly localAsn: number;
  readonly peerAsn: number;
}

interface PeerEvents {
  /** The number of sessions changed by this: 1 or -1. */
  readonly session: (change: 1 | -1) => void;
  readonly update: (update: Update) => void;
}

/**
 * The least that a BGP peer does, for IPv4: it accepts every session, reads updates and answers any other message with a KEEPALIVE. The
 * address that the other side connects to is its router ID.
 */
export function peerServer(autonomous: Autonomous, { session, update }: PeerEvents): Server {
  return createServer((socket) => {
    const local = address((socket.localAddress ?? '').replace('::ffff:', ''));
    const identity = { ...autonomous, routerId: Number(local.value), holdTime: 90, overIpv6: false };
    const framer = new Framer(maximumExtendedMessageLength);
    let isUp = false;
    socket.setNoDelay(true);
    socket.write(encodeOpen(localOpenMessage({ ...identity, families: [4] })));
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      if (isUp) session(-1);
    });
    socket.on('data', (data) => {
      framer.push(data);
      for (let next = framer.next(); next.kind !== 'needMore'; next = framer.next()) {
        if (next.kind === 'fault') throw new Error(next.fault.problem);
        if (next.type === messageType.update) {
          const decoded = decodeUpdate(next.body, { fourOctetAsn: true, internal: false, families: [4] });
          if (!decoded.ok) throw new Error(decoded.fault.problem);
          update(decoded.value);
          continue;
        }
        if (next.type === messageType.keepalive && !isUp) {
          isUp = true;
          session(1);
        }
        socket.write(keepaliveMessage);
      }
    });
  });
}
