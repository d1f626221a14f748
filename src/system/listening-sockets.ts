import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';

/** A socket that receives connections or datagrams on a port of this host. */
export interface ListeningSocket {
  readonly protocol: 'TCP' | 'UDP';
  /** Address as text. "::" also receives IPv4 unless the program set IPV6_V6ONLY, which /proc does not show. */
  readonly address: string;
  readonly port: number;
}

const files = [
  ['TCP', 'tcp'],
  ['TCP', 'tcp6'],
  ['UDP', 'udp'],
  ['UDP', 'udp6'],
] as const;

/** TCP_LISTEN and TCP_CLOSE of net/tcp_states.h. A UDP socket without a peer is in state TCP_CLOSE. */
const listeningStates = { TCP: '0A', UDP: '07' } as const;

/**
 * Lists the listening sockets in the network namespace of this process. `root` is /proc. The kernel lists listening TCP sockets first, so
 * reading stops at the first connection: there may be a hundred thousand.
 */
export async function listeningSockets(root: string): Promise<ListeningSocket[]> {
  const found: ListeningSocket[] = [];
  for (const [protocol, file] of files) {
    const stream = createReadStream(`${root}/net/${file}`, { encoding: 'latin1' });
    try {
      for await (const line of createInterface({ input: stream })) {
        const [, local = '', , state] = line.trim().split(/\s+/);
        if (local === 'local_address') continue;
        if (state === listeningStates[protocol]) found.push(socketOf(protocol, local));
        else if (protocol === 'TCP') break;
      }
    } catch (error) {
      // The file is missing when the host does not support the address family.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    } finally {
      stream.destroy();
    }
  }
  return found;
}

/** Parses "0100007F:1F90": the address as 32-bit words in host byte order, and the port. */
function socketOf(protocol: ListeningSocket['protocol'], local: string): ListeningSocket {
  const [hex = '', port = ''] = local.split(':');
  const octets = (hex.match(/.{8}/g) ?? []).flatMap((word) => Array.from(Buffer.from(word, 'hex')).toReversed());
  return { protocol, address: addressText(octets), port: Number.parseInt(port, 16) };
}

function addressText(octets: readonly number[]): string {
  if (octets.length === 4) return octets.join('.');
  if (octets.every((octet) => octet === 0)) return '::';
  return Array.from({ length: 8 }, (_, group) => (((octets[2 * group] ?? 0) << 8) | (octets[2 * group + 1] ?? 0)).toString(16)).join(':');
}
