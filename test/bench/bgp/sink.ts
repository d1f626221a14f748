import { createServer } from 'node:net';
import { maximumExtendedMessageLength } from '../../../src/bgp/limits.ts';
import { localOpenMessage } from '../../../src/bgp/negotiation/local-open.ts';
import { messageType } from '../../../src/bgp/wire/codes.ts';
import { Framer } from '../../../src/bgp/wire/framer.ts';
import { keepaliveMessage } from '../../../src/bgp/wire/header.ts';
import { encodeOpen } from '../../../src/bgp/wire/open.ts';
import { decodeUpdate } from '../../../src/bgp/wire/update.ts';
import { address } from '../../../src/net/address.ts';
import { receiverAsn, senderAsn } from './addresses.ts';
import { answerCalls } from './senders/caller.ts';

/** The peers at the other end, on every address of the namespace: they count the prefixes, and record when which MED arrives. */
export interface Counts {
  readonly sessions: number;
  readonly announced: number;
  readonly withdrawn: number;
  readonly updates: number;
}

const counts = { sessions: 0, announced: 0, withdrawn: 0, updates: 0 };
const arrivals = new Map<number, string>();

const server = createServer((socket) => {
  const local = address((socket.localAddress ?? '').replace('::ffff:', ''));
  const identity = {
    localAsn: receiverAsn,
    peerAsn: senderAsn,
    routerId: Number(local.value),
    holdTime: 90,
    families: [4],
    overIpv6: false,
  };
  const framer = new Framer(maximumExtendedMessageLength);
  let isUp = false;
  socket.setNoDelay(true);
  socket.write(encodeOpen(localOpenMessage({ ...identity, families: [4] })));
  socket.on('error', () => socket.destroy());
  socket.on('close', () => {
    if (isUp) counts.sessions--;
  });
  socket.on('data', (data) => {
    const now = String(process.hrtime.bigint());
    framer.push(data);
    for (let next = framer.next(); next.kind !== 'needMore'; next = framer.next()) {
      if (next.kind === 'fault') throw new Error(next.fault.problem);
      if (next.type !== messageType.update) {
        if (next.type === messageType.keepalive && !isUp) {
          isUp = true;
          counts.sessions++;
        }
        socket.write(keepaliveMessage);
        continue;
      }
      const update = decodeUpdate(next.body, { fourOctetAsn: true, internal: false, families: [4] });
      if (!update.ok) throw new Error(update.fault.problem);
      counts.updates++;
      for (const { count } of update.value.announced) counts.announced += count;
      for (const { count } of update.value.withdrawn) counts.withdrawn += count;
      const { med } = update.value.attributes;
      if (med !== undefined) arrivals.set(med, now);
    }
  });
});

answerCalls({
  listen: () => new Promise<void>((resolve) => server.listen({ port: 179, host: '0.0.0.0', backlog: 4096 }, resolve)),
  counts: (): Counts => counts,
  arrivals: (count: number) => Array.from({ length: count }, (_, n) => arrivals.get(n + 1)),
});
