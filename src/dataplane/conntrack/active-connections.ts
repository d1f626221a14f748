import { defined } from '../../lang/defined.ts';
import type { Family } from '../../net/address.ts';
import type { Protocol } from '../../net/frontend.ts';
import type { Clock } from '../../system/clock.ts';
import { NetlinkConnection } from '../../system/netlink/connection.ts';
import { netfilterProtocol } from '../../system/netlink/socket.ts';
import { requiredNetlink } from '../required-netlink.ts';
import { translatedRequest } from './flow-messages.ts';
import { FlowReader, statusBits, tcpStates, type Pair } from './flow-reader.ts';

/** Endpoints of a family with this port. */
export interface CountedPort {
  readonly family: Family;
  readonly protocol: Protocol;
  readonly endpointPort: number;
}

/** The active connections through this node that have one destination and endpoint. */
export interface ActiveConnections {
  readonly pair: Pair;
  readonly active: number;
}

/**
 * Counts the active translated connections to endpoints with these ports. A TCP connection is active from its first packet until one
 * side closes it, an SCTP association likewise, and a UDP flow while the kernel remembers it. Rejects with NetlinkError, MalformedNetlink or
 * DataplaneError.
 */
export type CountActive = (ports: readonly CountedPort[]) => Promise<readonly ActiveConnections[]>;

/** Counts in the kernel's connection tracking: one walk through the table for each port, of which the kernel lists the connections of the port. */
export function activeConnections(clock: Clock, networkNamespace?: string): CountActive {
  const reader = new FlowReader();
  return async (ports) => {
    const tallies = new Map<string, { readonly pair: Pair; active: number }>();
    const socket = requiredNetlink({ protocol: netfilterProtocol, ...defined({ networkNamespace }) });
    try {
      const connection = new NetlinkConnection(socket, clock);
      const pairs = new Map<string, Pair>();
      for (const { family, protocol, endpointPort } of ports) {
        // A list that changed while it was read is read again, so the keys are counted at its end.
        const keys = await connection.list(translatedRequest(family, protocol, endpointPort), (payload) => {
          reader.read(payload, headerBytes, payload.length);
          if (!isActive(reader) || reader.protocol !== protocol || reader.endpointPort !== endpointPort) return undefined;
          const { key } = reader;
          if (!pairs.has(key)) pairs.set(key, pairOf(reader, protocol));
          return key;
        });
        for (const key of keys) {
          const tally = tallies.get(key);
          const pair = pairs.get(key);
          if (tally !== undefined) tally.active++;
          else if (pair !== undefined) tallies.set(key, { pair, active: 1 });
        }
      }
    } finally {
      socket.close();
    }
    return [...tallies.values()];
  };
}

/** struct nfgenmsg. */
const headerBytes = 4;

/** States of SCTP before the shutdown (enum sctp_conntrack): cookie-wait, cookie-echoed, established, heartbeat-sent. */
const activeAssociations: ReadonlySet<number> = new Set([2, 3, 4, 8]);

function isActive(reader: FlowReader): boolean {
  if (!reader.isComplete || (reader.status & statusBits.translated) === 0) return false;
  if (reader.protocol === 'SCTP') return activeAssociations.has(reader.state);
  return reader.protocol === 'UDP' || (reader.state >= tcpStates.synSent && reader.state <= tcpStates.established);
}

function pairOf({ destination, port, endpoint, endpointPort }: FlowReader, protocol: Protocol): Pair {
  return { destination, protocol, port, endpoint, endpointPort };
}
