import { NetlinkError } from '../../../src/system/netlink/error.ts';
import { netfilterProtocol, openNetlink, type NetlinkSocket } from '../../../src/system/netlink/socket.ts';
import { changesGroup } from '../../../src/dataplane/nftables/netlink/constants.ts';
import { churnedSequence, timeNow } from './addresses.ts';

const pollMilliseconds = 2;
const receiveBytes = 128 << 20;
/** The first octet of 198.18.0.0/15. */
const first = 198;

/**
 * Notes when the kernel of a network namespace gets each endpoint that a change brought in, whichever program commits it: the kernel
 * reports each new rule or element, and the address is in it.
 */
export class RuleTimes {
  readonly #socket: NetlinkSocket;
  readonly #timer: NodeJS.Timeout;
  readonly #times = new Map<number, number>();
  /** How often the kernel had more reports than the socket can hold. */
  lost = 0;

  constructor(namespaceFile: string) {
    const socket = openNetlink({ protocol: netfilterProtocol, groups: [changesGroup], networkNamespace: namespaceFile, receiveBytes });
    if (socket === undefined) throw new Error('koffi has no binary for this machine');
    this.#socket = socket;
    this.#timer = setInterval(() => this.#poll(), pollMilliseconds);
  }

  /** Returns when the endpoint with this number came into the kernel. */
  of(sequence: number): number | undefined {
    return this.#times.get(sequence);
  }

  close(): void {
    clearInterval(this.#timer);
    this.#socket.close();
  }

  #poll(): void {
    try {
      for (let datagram = this.#socket.receive(); datagram !== undefined; datagram = this.#socket.receive()) this.#note(datagram);
    } catch (error) {
      if (!(error instanceof NetlinkError)) throw error;
      this.lost++;
    }
  }

  #note(datagram: Uint8Array): void {
    const at = timeNow();
    for (let index = datagram.indexOf(first); index !== -1; index = datagram.indexOf(first, index + 1)) {
      const [, second = 0, third = 0, fourth = 0] = datagram.subarray(index, index + 4);
      if (second !== 18 && second !== 19) continue;
      const sequence = churnedSequence(second, third, fourth);
      if (!this.#times.has(sequence)) this.#times.set(sequence, at);
    }
  }
}
