import { AF_INET6, IPPROTO_IPV6, SOCK_CLOEXEC } from '../../../system/ffi/inet-socket.ts';
import { systemError, type Libc } from '../../../system/ffi/libc.ts';
import { groupsPerSocket } from '../../limits.ts';

const SOCK_DGRAM = 2;
const IPV6_JOIN_GROUP = 20;
const IPV6_LEAVE_GROUP = 21;

interface GroupSocket {
  readonly fd: number;
  readonly groups: Set<string>;
}

/**
 * Joins multicast groups by the kernel, which programs the interface and reports the groups to switches (MLD). Joining costs time that grows
 * with the groups of the socket, and its memory is limited (net.core.optmem_max), so the groups are spread over sockets.
 */
export class GroupSockets {
  readonly #libc: Libc;
  readonly #index: number;
  #sockets: GroupSocket[] = [];

  constructor(libc: Libc, index: number) {
    this.#libc = libc;
    this.#index = index;
  }

  /** Returns why the kernel refuses, or undefined. */
  join(group: Uint8Array): string | undefined {
    try {
      const socket = this.#sockets.find(({ groups }) => groups.size < groupsPerSocket) ?? this.#open();
      this.#set(socket, IPV6_JOIN_GROUP, group);
      socket.groups.add(keyOf(group));
      return undefined;
    } catch (error) {
      return (error as Error).message;
    }
  }

  leave(group: Uint8Array): void {
    const key = keyOf(group);
    const socket = this.#sockets.find(({ groups }) => groups.has(key));
    if (socket === undefined) return;
    socket.groups.delete(key);
    try {
      this.#set(socket, IPV6_LEAVE_GROUP, group);
    } catch {
      // The interface is gone, and the groups with it.
    }
  }

  close(): void {
    for (const { fd } of this.#sockets) this.#libc.close(fd);
    this.#sockets = [];
  }

  #open(): GroupSocket {
    const fd = this.#libc.socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) throw systemError(this.#libc, 'opening a socket for multicast groups');
    const socket = { fd, groups: new Set<string>() };
    this.#sockets.push(socket);
    return socket;
  }

  #set({ fd }: GroupSocket, option: number, group: Uint8Array): void {
    // struct ipv6_mreq
    const request = Buffer.alloc(20);
    request.set(group);
    request.writeUInt32LE(this.#index, 16);
    if (this.#libc.setsockopt(fd, IPPROTO_IPV6, option, request, request.length) < 0)
      throw systemError(this.#libc, 'joining a multicast group');
  }
}

const keyOf = (group: Uint8Array): string => Buffer.from(group).toString('hex');
