import { defined } from '../../lang/defined.ts';
import { loadLibc, type Libc } from '../../system/ffi/libc.ts';
import { LinkWatch, type LinkWatchEvents } from './linux/link-watch.ts';
import { InterfaceSockets } from './linux/interface-sockets.ts';
import type { Transport, TransportEvents } from './transport.ts';

const POLLIN = 1;
/** Octets of struct pollfd. */
const pollEntry = 8;

/** Returns a transport with packet sockets of Linux, or undefined if the native module cannot be loaded. */
export function linuxTransport(): LinuxTransport | undefined {
  const libc = loadLibc();
  return libc === undefined ? undefined : new LinuxTransport(libc);
}

/**
 * Packet sockets that the calling thread waits for and reads itself: libuv has no handle for them, and a thread that blocks in poll(2)
 * answers within microseconds.
 */
export class LinuxTransport implements Transport {
  readonly #libc: Libc;
  readonly #interfaces = new Map<string, InterfaceSockets>();
  #events: TransportEvents | undefined;
  #pollSet = Buffer.alloc(0);
  readonly #watch = LinkWatch.open();
  readonly #linkEvents: LinkWatchEvents = {
    changed: (link) => {
      for (const sockets of this.#interfaces.values()) {
        if (sockets.name === link.name) {
          if (sockets.open()) this.#events?.reopened(sockets.name);
          this.#events?.linkChanged(sockets.name, {
            ...defined({ mac: link.linkAddress }),
            carrier: link.up && link.carrier,
            moved: link.moved,
          });
        } else if (link.moved && link.master === sockets.index) {
          // A bridge passes frames to its ports, and does not tell that a bond among them has failed over.
          this.#events?.linkChanged(sockets.name, { carrier: true, moved: true });
        }
      }
    },
    removed: ({ name }) => {
      if (this.#interfaces.has(name)) this.#events?.linkChanged(name, { carrier: false, moved: false });
    },
    lost: () => {
      for (const name of this.#interfaces.keys()) this.#events?.linkChanged(name, { carrier: true, moved: true });
    },
  };

  constructor(libc: Libc) {
    this.#libc = libc;
  }

  listen(events: TransportEvents): void {
    this.#events = events;
  }

  open(name: string, { promiscuous }: { readonly promiscuous: boolean }): void {
    const present = this.#interfaces.get(name);
    if (present?.promiscuous === promiscuous) return;
    present?.close();
    const sockets = new InterfaceSockets(this.#libc, name, promiscuous);
    this.#interfaces.set(name, sockets);
    sockets.open();
    if (present !== undefined) this.#events?.reopened(name);
  }

  close(name: string): void {
    this.#interfaces.get(name)?.close();
    this.#interfaces.delete(name);
  }

  send(name: string, octets: Uint8Array): boolean {
    return this.#interfaces.get(name)?.send(octets) ?? false;
  }

  join(name: string, group: Uint8Array): string | undefined {
    const sockets = this.#interfaces.get(name);
    return sockets === undefined ? `${name} is not open` : sockets.join(group);
  }

  leave(name: string, group: Uint8Array): void {
    this.#interfaces.get(name)?.leave(group);
  }

  problem(name: string): string | undefined {
    return this.#interfaces.get(name)?.problem;
  }

  drops(name: string): number | undefined {
    return this.#interfaces.get(name)?.drops;
  }

  /** Opens interfaces that were made anew. Call it now and then: the kernel does not tell it on the socket. */
  reopen(): void {
    for (const sockets of this.#interfaces.values()) if (sockets.open()) this.#events?.reopened(sockets.name);
  }

  /** Blocks until a frame arrives, the event descriptor is signalled or the time is over. */
  wait(event: number, milliseconds: number): void {
    const descriptors = [
      event,
      ...(this.#watch === undefined ? [] : [this.#watch.fd]),
      ...this.#interfaces.values().flatMap((sockets) => sockets.descriptors),
    ];
    if (this.#pollSet.length !== descriptors.length * pollEntry) this.#pollSet = Buffer.alloc(descriptors.length * pollEntry);
    for (const [at, fd] of descriptors.entries()) {
      this.#pollSet.writeInt32LE(fd, at * pollEntry);
      this.#pollSet.writeUInt32LE(POLLIN, at * pollEntry + 4);
    }
    this.#libc.poll(this.#pollSet, descriptors.length, milliseconds);
  }

  /** Reads events and frames that wait, up to a limit. Returns true if there may be more. */
  read(): boolean {
    let hasMore = false;
    this.#watch?.read(this.#linkEvents);
    for (const sockets of this.#interfaces.values()) {
      if (sockets.read((octets) => this.#events?.received(sockets.name, octets))) hasMore = true;
    }
    return hasMore;
  }
}
