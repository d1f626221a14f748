import process from 'node:process';
import { PacketSocket } from '../../../src/l2/transport/linux/packet-socket.ts';
import { etherType } from '../../../src/l2/wire/ethernet.ts';
import { decodeFrame } from '../../../src/l2/wire/frame.ts';
import { formatMac } from '../../../src/l2/wire/mac.ts';
import { address, formatAddress } from '../../../src/net/address.ts';
import { loadLibc } from '../../../src/system/ffi/libc.ts';
import { arpRequest, mac, solicitation } from '../../../src/l2/test/frames.ts';
import type { WatchOptions, WatchedFrame } from './watch.ts';

/** Asks for addresses at intervals, and records every ARP reply, neighbor advertisement and announcement that it receives. */
const libc = loadLibc();
if (libc === undefined) throw new Error('koffi has no binary for this machine');
const index = libc.interfaceIndex('v0');
const sockets = [etherType.arp, etherType.ipv6].map((type) => new PacketSocket(libc, index, type, false));
const [, , given = '{}'] = process.argv;
const { own, own6, ownMac } = JSON.parse(given) as WatchOptions;
const buffer = Buffer.alloc(2048);
const frames: WatchedFrame[] = [];
let asking: NodeJS.Timeout | undefined;

const now = (): number => performance.timeOrigin + performance.now();

function receive(): void {
  for (const socket of sockets) {
    for (let length = socket.receive(buffer); length > 0; length = socket.receive(buffer)) {
      const frame = decodeFrame(buffer.subarray(0, length));
      if (typeof frame === 'string' || frame.etherSource === mac(ownMac) || frame.kind === 'solicitation') continue;
      const isArp = frame.kind === 'arp';
      if (isArp && frame.operation === 'request' && frame.sender.value !== frame.target.value) continue;
      const isToUs = frame.etherDestination === mac(ownMac);
      frames.push({
        at: now(),
        kind: isToUs ? 'answer' : 'announcement',
        address: formatAddress(isArp ? frame.sender : frame.target),
        mac: formatMac(isArp ? frame.senderMac : (frame.targetLink ?? frame.etherSource)),
      });
    }
  }
}

setInterval(receive, 2);

function ask(addresses: readonly string[]): void {
  for (const text of addresses) {
    const target = address(text);
    const etherSource = mac(ownMac);
    const octets =
      target.family === 4
        ? arpRequest({ etherSource, senderMac: etherSource, sender: address(own), target })
        : solicitation({ etherSource, source: address(own6), target, sourceLink: etherSource });
    sockets[target.family === 4 ? 0 : 1]?.send(octets);
  }
}

const methods: Record<string, (...args: never[]) => unknown> = {
  /** Asks for the addresses every so many milliseconds from now on. */
  ask: (addresses: readonly string[], interval: number) => {
    clearInterval(asking);
    asking = setInterval(() => ask(addresses), interval);
  },
  /** Returns the frames since the last call. */
  take: () => {
    receive();
    return frames.splice(0);
  },
};

process.on('message', ({ id, method, args }: { id: number; method: string; args: readonly unknown[] }) => {
  process.send?.({ id, value: methods[method]?.(...(args as never[])) });
});
process.on('disconnect', () => process.exit());
