import { createServer } from 'node:net';
import { maximumExtendedMessageLength } from '../../../src/bgp/limits.ts';
import { localOpenMessage } from '../../../src/bgp/negotiation/local-open.ts';
import { messageType } from '../../../src/bgp/wire/codes.ts';
import { Framer } from '../../../src/bgp/wire/framer.ts';
import { keepaliveMessage } from '../../../src/bgp/wire/header.ts';
import { encodeOpen } from '../../../src/bgp/wire/open.ts';
import { decodeUpdate } from '../../../src/bgp/wire/update.ts';
import { receiverAddress, receiverAsn, senderAsn } from './addresses.ts';
import { answerCalls } from './senders/caller.ts';

/** A peer that only records when which MED arrives: the other end of the measurement of single changes. */
const open = encodeOpen(
  localOpenMessage({ localAsn: receiverAsn, peerAsn: senderAsn, routerId: 1, holdTime: 90, families: [4], overIpv6: false }),
);
const arrivals = new Map<number, string>();
let prefixes = 0;

const server = createServer((socket) => {
  const framer = new Framer(maximumExtendedMessageLength);
  socket.setNoDelay(true);
  socket.write(open);
  socket.on('error', () => socket.destroy());
  socket.on('data', (data) => {
    const now = String(process.hrtime.bigint());
    framer.push(data);
    for (let next = framer.next(); next.kind !== 'needMore'; next = framer.next()) {
      if (next.kind === 'fault') throw new Error(next.fault.problem);
      if (next.type !== messageType.update) {
        socket.write(keepaliveMessage);
        continue;
      }
      const update = decodeUpdate(next.body, { fourOctetAsn: true, internal: false, families: [4] });
      if (!update.ok) throw new Error(update.fault.problem);
      for (const { count } of update.value.announced) prefixes += count;
      const { med } = update.value.attributes;
      if (med !== undefined) arrivals.set(med, now);
    }
  });
});

answerCalls({
  listen: () => new Promise<void>((resolve) => server.listen(179, receiverAddress, resolve)),
  prefixes: () => prefixes,
  arrivals: (count: number) => Array.from({ length: count }, (_, n) => arrivals.get(n + 1)),
});
