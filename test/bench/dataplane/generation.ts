import { setTimeout as sleep } from 'node:timers/promises';
import { messages } from '../../../src/dataplane/nftables/netlink/constants.ts';
import { netfilterProtocol, openNetlink, type NetlinkSocket } from '../../../src/system/netlink/socket.ts';

/**
 * The generation of the rules of a namespace, which every commit raises, whoever makes it. It is asked for and not listened to: for a
 * listener the kernel writes an event for each element, which would be measured too.
 */
export class Generation {
  readonly #socket: NetlinkSocket;

  constructor(namespaceFile: string) {
    const socket = openNetlink({ protocol: netfilterProtocol, networkNamespace: namespaceFile });
    if (socket === undefined) throw new Error('koffi has no binary for this machine');
    this.#socket = socket;
  }

  /** When the generation next differs from `last`, as performance.now() has it, to about a millisecond; and the new one. */
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
    // The first attribute is NFTA_GEN_ID, in network order.
    if (answer === undefined || answer.length < 28) throw new Error('the kernel does not tell its generation');
    return Buffer.from(answer).readUInt32BE(24);
  }

  close(): void {
    this.#socket.close();
  }
}
