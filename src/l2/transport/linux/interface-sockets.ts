import type { Libc } from '../../../system/ffi/libc.ts';
import { framesPerTurn } from '../../limits.ts';
import { etherType, readUint16 } from '../../wire/ethernet.ts';
import { GroupSockets } from './group-sockets.ts';
import { PacketSocket } from './packet-socket.ts';

/** Longer than any frame of ARP or NDP. */
const bufferLength = 2048;
const buffer = Buffer.alloc(bufferLength);

/** The sockets of one interface. When the interface is gone they are opened again as soon as there is one with its name. */
export class InterfaceSockets {
  readonly name: string;
  problem: string | undefined = 'not opened yet';
  promiscuous: boolean;
  readonly #libc: Libc;
  #index = 0;
  #sockets: { readonly arp: PacketSocket; readonly ipv6: PacketSocket } | undefined;
  #groups: GroupSockets | undefined;
  #earlierDrops = 0;

  constructor(libc: Libc, name: string, promiscuous: boolean) {
    this.#libc = libc;
    this.name = name;
    this.promiscuous = promiscuous;
  }

  /** The number of the interface in the kernel. 0: there is none. */
  get index(): number {
    return this.#index;
  }

  get descriptors(): readonly number[] {
    return this.#sockets === undefined ? [] : [this.#sockets.arp.fd, this.#sockets.ipv6.fd];
  }

  get drops(): number {
    return this.#earlierDrops + (this.#sockets === undefined ? 0 : this.#sockets.arp.drops() + this.#sockets.ipv6.drops());
  }

  /** Opens the sockets unless they are open on the present interface of this name. Returns true if it opened them. */
  open(): boolean {
    const index = this.#libc.interfaceIndex(this.name);
    if (index !== 0 && index === this.#index && this.#sockets !== undefined) return false;
    this.close();
    if (index === 0) {
      this.problem = `there is no network interface ${this.name}`;
      return false;
    }
    let arp: PacketSocket | undefined;
    try {
      arp = new PacketSocket(this.#libc, index, etherType.arp, this.promiscuous);
      this.#sockets = { arp, ipv6: new PacketSocket(this.#libc, index, etherType.ipv6, this.promiscuous) };
      this.#groups = new GroupSockets(this.#libc, index);
      this.#index = index;
      this.problem = undefined;
      return true;
    } catch (error) {
      arp?.close();
      this.problem = (error as Error).message;
      return false;
    }
  }

  send(octets: Uint8Array): boolean {
    const socket = readUint16(octets, 12) === etherType.arp ? this.#sockets?.arp : this.#sockets?.ipv6;
    return socket !== undefined && socket.send(octets) === undefined;
  }

  /** Reads the frames that wait, up to a limit. Returns true if there may be more. */
  read(received: (octets: Uint8Array) => void): boolean {
    let hasMore = false;
    for (const socket of this.#sockets === undefined ? [] : [this.#sockets.arp, this.#sockets.ipv6]) {
      let left = framesPerTurn;
      for (; left > 0; left--) {
        const length = socket.receive(buffer);
        if (length <= 0) break;
        received(buffer.subarray(0, length));
      }
      hasMore ||= left === 0;
    }
    return hasMore;
  }

  join(group: Uint8Array): string | undefined {
    return this.#groups === undefined ? this.problem : this.#groups.join(group);
  }

  leave(group: Uint8Array): void {
    this.#groups?.leave(group);
  }

  close(): void {
    this.#earlierDrops = this.drops;
    this.#sockets?.arp.close();
    this.#sockets?.ipv6.close();
    this.#groups?.close();
    this.#sockets = undefined;
    this.#groups = undefined;
    this.problem = 'closed';
  }
}
