import { loadavg } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { PacketSocket } from '../../../src/l2/transport/linux/packet-socket.ts';
import { decodeFrame } from '../../../src/l2/wire/frame.ts';
import { etherType } from '../../../src/l2/wire/ethernet.ts';
import { address, formatAddress } from '../../../src/net/address.ts';
import { loadLibc } from '../../../src/system/ffi/libc.ts';
import { inNetworkNamespace } from '../../../test/kube-fixture/network-namespace.ts';
import { L2Process, Segment } from '../../../test/lab/l2/segment.ts';
import { arpRequest, mac } from '../test/frames.ts';

/** Cost of claiming many addresses, and of answering for one of them. */
export interface Claims {
  readonly addresses: number;
  /** Milliseconds from the call of `set` until each address has been announced in both forms. In ascending order. */
  readonly wall: readonly number[];
  /** Processor time of the whole process in the same time, in milliseconds. */
  readonly cpu: readonly number[];
  /** Microseconds from request to answer while all are held. In ascending order. */
  readonly answers: readonly number[];
  /** Frames that a host on the segment received, of those announced. */
  readonly received: number;
  readonly load: number;
}

const requests = 500;

/** Has the library claim many addresses, several times, and then asks for some of them. */
export async function measureClaims(addresses: number, runs: number): Promise<Claims> {
  const [wall, cpu]: [number[], number[]] = [[], []];
  const answers: number[] = [];
  let received = 0;
  for (let run = 0; run < runs; run++) {
    const segment = new Segment(2);
    const node = new L2Process(segment.host(0), { realTime: true });
    try {
      await node.call('started');
      await sleep(500);
      const took = (await node.call('claimMany', addresses, segment.macOf(0))) as { milliseconds: number; cpu: number };
      wall.push(took.milliseconds);
      cpu.push(took.cpu);
      received = framesReceived(segment);
      // The repeated announcements of the first 3 s are over.
      await sleep(5_000);
      answers.push(...(await answerTimes(segment, addresses)));
    } finally {
      await node.kill();
      segment.close();
    }
  }
  for (const list of [wall, cpu, answers]) list.sort((a, b) => a - b);
  return { addresses, wall, cpu, answers, received, load: loadavg()[0] ?? Number.NaN };
}

function framesReceived(segment: Segment): number {
  const text = segment.run(1, 'cat', '/sys/class/net/v0/statistics/rx_packets');
  return Number(text);
}

/** Asks for one address after the other. Waits for each answer without sleeping, so that only the answer is measured. */
async function answerTimes(segment: Segment, addresses: number): Promise<number[]> {
  const libc = loadLibc();
  if (libc === undefined) throw new Error('koffi has no binary for this machine');
  const socket = inNetworkNamespace(segment.host(1), () => new PacketSocket(libc, libc.interfaceIndex('v0'), etherType.arp, false));
  const buffer = Buffer.alloc(2048);
  const client = mac(segment.macOf(1));
  const times: number[] = [];
  try {
    for (let request = 0; request < requests; request++) {
      while (socket.receive(buffer) > 0);
      const at = Math.floor(Math.random() * addresses);
      const target = address(`10.200.${at >> 8}.${at & 255}`);
      const octets = arpRequest({ etherSource: client, senderMac: client, sender: address('10.77.0.11'), target });
      const began = performance.now();
      socket.send(octets);
      while (performance.now() - began < 1_000) {
        const length = socket.receive(buffer);
        const frame = length > 0 ? decodeFrame(buffer.subarray(0, length)) : 'nothing';
        if (typeof frame === 'string' || frame.kind !== 'arp' || formatAddress(frame.sender) !== formatAddress(target)) continue;
        if (frame.operation === 'reply' && frame.etherDestination === client) break;
      }
      times.push(1000 * (performance.now() - began));
      // A host gets at most 1,000 answers a second.
      await sleep(4);
    }
  } finally {
    socket.close();
  }
  return times;
}
