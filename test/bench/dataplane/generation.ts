import { setTimeout as sleep } from 'node:timers/promises';
import { messages } from '../../../src/dataplane/nftables/netlink/constants.ts';
import { netfilterProtocol, openNetlink, type NetlinkSocket } from '../../../src/system/netlink/socket.ts';

/**
 * Reads the nftables generation of a namespace, which every commit by any program raises. It is polled, not subscribed to: for a listener,
 * the kernel writes an event for each element, which would be measured too.
 */
export class Generation {
  readonly #socket: NetlinkSocket;

  constructor(namespaceFile: string) {
    const socket = openNetlink({ protocol: netfilterProtocol, networkNamespace: namespaceFile });
    if (socket === undefined) throw new Error('koffi has no binary for this machine');
    this.#socket = socket;
  }

  /** Waits until the generation differs from `last`. Returns the new one and the time as performance.now(), to about a millisecond. */
  async after(last: number, timeoutMs: number): Promise<{ readonly generation: number; readonly at: number }> {
    const deadline = performance.now() + timeoutMs;
    for (;;) {
      const generation = await this.now();
      const at = performance.now();
      if (generation !== last) return { generation, at };
      if (at > deadline) throw new Error(`no commit within ${timeoutMs} ms`);
      await sleep(1);
    }
  }

  async now(): Promise<number> {
    // struct nlmsghdr (length, type, NLM_F_REQUEST, sequence, port) and struct nfgenmsg.
    const request = Buffer.alloc(20);
    request.writeUInt32LE(request.length, 0);
    request.writeUInt16LE(messages.getGeneration, 4);
    request.writeUInt16LE(1, 6);
    await this.#socket.send(request);
    const answer = this.#socket.receive();
    // The first attribute is NFTA_GEN_ID, in network byte order.
    if (answer === undefined || answer.length < 28) throw new Error('the kernel did not return its generation');
    return Buffer.from(answer).readUInt32BE(24);
  }

  close(): void {
    this.#socket.close();
  }
}

/** Resolves to the generation once no commit has happened for a while. */
export async function untilQuiet(generation: Generation): Promise<number> {
  for (let last = await generation.now(); ;) {
    await sleep(1_500);
    const now = await generation.now();
    if (now === last) return now;
    last = now;
  }
}
