import { run } from '../peers/link.ts';
import { inNetworkNamespace } from '../kube-fixture/network-namespace.ts';
import { DatagramSocket } from '../../src/bfd/transport/linux/datagram-socket.ts';
import { ControlPacket, encodeControlPacket } from '../../src/bfd/wire/control-packet.ts';
import { address, addressBytes } from '../../src/net/address.ts';
import { inetAddress } from '../../src/system/ffi/inet-socket.ts';
import { loadLibc } from '../../src/system/ffi/libc.ts';

export interface ForgedPacket {
  readonly from?: string;
  readonly to: string;
  readonly port: 3784 | 4784;
  readonly ttl: number;
  readonly packet: Partial<ControlPacket>;
}

/** Sends one packet out of a namespace, as any host on the path could. */
export function sendForged(namespace: string, { from, to, port, ttl, packet }: ForgedPacket): void {
  const octets = new Uint8Array(24);
  encodeControlPacket(Object.assign(new ControlPacket(), { detectMultiplier: 3, ...packet }), octets);
  inNetworkNamespace(namespace, () => {
    const libc = loadLibc();
    if (libc === undefined) throw new Error('koffi has no binary for this machine');
    const target = address(to);
    const socket = DatagramSocket.open(libc, target.family);
    try {
      socket.setTtl(ttl);
      if (from !== undefined) socket.bindTo(addressBytes(address(from)), 0, 'binding');
      const where = inetAddress(target.family, addressBytes(target), port);
      if (libc.sendto(socket.fd, octets, octets.length, 0, where, where.length) < 0) throw new Error(`sending failed: ${libc.errno()}`);
    } finally {
      socket.close();
    }
  });
}

/** Counts the BFD packets that arrive in a namespace and records their source ports and TTLs. */
export class PacketWatch {
  readonly #namespace: string;

  constructor(namespace: string) {
    this.#namespace = namespace;
    const families = [
      ['ip', 'ttl'],
      ['ip6', 'hoplimit'],
    ] as const;
    const rules = families.map(
      ([family, ttl]) =>
        `meta nfproto ${family === 'ip' ? 'ipv4' : 'ipv6'} udp dport { 3784, 4784 } add @seen { ${family} ${ttl} . udp sport . udp dport }`,
    );
    const table = `table inet watch {
set seen {
typeof ip ttl . udp sport . udp dport
size 65535
flags dynamic
}
chain input {
type filter hook input priority 0
${rules.join('\n')}
}
}`;
    run('ip', 'netns', 'exec', this.#namespace, 'nft', table);
  }

  /** Returns every combination seen. */
  seen(): { readonly ttl: number; readonly sourcePort: number; readonly port: number }[] {
    const text = run('ip', 'netns', 'exec', this.#namespace, 'nft', '-n', 'list', 'set', 'inet', 'watch', 'seen');
    return [...text.matchAll(/(\d+) \. (\d+) \. (\d+)/g)].map(([, ttl, sourcePort, port]) => ({
      ttl: Number(ttl),
      sourcePort: Number(sourcePort),
      port: Number(port),
    }));
  }

  close(): void {
    run('ip', 'netns', 'exec', this.#namespace, 'nft', 'delete', 'table', 'inet', 'watch');
  }
}
