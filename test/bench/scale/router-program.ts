/** A BGP peer on every address of its network namespace. It notes when each prefix was announced first. The benchmark calls its methods. */
import { createServer } from 'node:net';
import { maximumExtendedMessageLength } from '../../../src/bgp/limits.ts';
import { localOpenMessage } from '../../../src/bgp/negotiation/local-open.ts';
import { messageType } from '../../../src/bgp/wire/codes.ts';
import { Framer } from '../../../src/bgp/wire/framer.ts';
import { keepaliveMessage } from '../../../src/bgp/wire/header.ts';
import { readNlri } from '../../../src/bgp/wire/nlri.ts';
import { encodeOpen } from '../../../src/bgp/wire/open.ts';
import { decodeUpdate } from '../../../src/bgp/wire/update.ts';
import { address } from '../../../src/net/address.ts';
import { formatPrefix } from '../../../src/net/prefix.ts';
import { answerCalls } from '../bgp/senders/caller.ts';
import { heraldAsn, routerAddress, routerAsn, timeNow } from './addresses.ts';

const times = new Map<string, number>();
let sessions = 0;

const server = createServer((socket) => {
  const identity = {
    localAsn: routerAsn,
    peerAsn: heraldAsn,
    routerId: Number(address(routerAddress).value),
    holdTime: 90,
    overIpv6: false,
  };
  const framer = new Framer(maximumExtendedMessageLength);
  let isUp = false;
  socket.setNoDelay(true);
  socket.write(encodeOpen(localOpenMessage({ ...identity, families: [4] })));
  socket.on('error', () => socket.destroy());
  socket.on('close', () => {
    if (isUp) sessions--;
  });
  socket.on('data', (data) => {
    const now = timeNow();
    framer.push(data);
    for (let next = framer.next(); next.kind !== 'needMore'; next = framer.next()) {
      if (next.kind === 'fault') return socket.destroy();
      if (next.type === messageType.keepalive && !isUp) {
        isUp = true;
        sessions++;
      }
      if (next.type === messageType.update) note(next.body, now);
      else socket.write(keepaliveMessage);
    }
  });
});

function note(body: Uint8Array, now: number): void {
  const update = decodeUpdate(body, { fourOctetAsn: true, internal: false, families: [4] });
  if (!update.ok) throw new Error(update.fault.problem);
  for (const { family, bytes } of update.value.announced) {
    for (const prefix of readNlri(family, bytes)) {
      const text = formatPrefix(prefix);
      if (!times.has(text)) times.set(text, now);
    }
  }
}

answerCalls({
  listen: () => new Promise<void>((resolve) => server.listen({ port: 179, host: '0.0.0.0' }, resolve)),
  sessions: () => sessions,
  times: () => Object.fromEntries(times),
});
