import { frontendKey, type FrontendMatch, type Protocol } from '../../net/frontend.ts';
import { sameAddress, type Address } from '../../net/address.ts';
import type { Clock } from '../../system/clock.ts';
import { NetlinkConnection } from '../../system/netlink/connection.ts';
import { MalformedNetlink, NetlinkError } from '../../system/netlink/error.ts';
import { netfilterProtocol, openNetlink, type NetlinkSocket } from '../../system/netlink/socket.ts';
import { listRequest, type Selection } from './flow-messages.ts';
import { FlowReader, statusBits, tcpStates, sctpEstablished } from './flow-reader.ts';
import { talliedConnections, talliedLists } from './limits.ts';

/** What the kernel remembers of connections from one frontend to one endpoint. */
export interface TalliedConnections {
  /** The frontend, as `frontendOf` named it. */
  readonly frontend: string;
  readonly protocol: Protocol;
  readonly endpoint: Address;
  readonly endpointPort: number;
  /** TCP and SCTP: established. UDP: answered. */
  readonly active: number;
  /** All others: those that begin, end or have ended, and UDP without an answer. */
  readonly inactive: number;
  /** Of these connections, from clients and from the endpoint. Both are 0 where the kernel does not count packets. */
  readonly packetsIn: number;
  readonly packetsOut: number;
}

export interface Tally {
  readonly connections: readonly TalliedConnections[];
  /** False: there are more connections than are read, so that the numbers are the least that there are. */
  readonly isWhole: boolean;
}

/** The destination of a connection. */
export interface TalliedDestination {
  readonly address: Address;
  readonly protocol: Protocol;
  readonly port: number;
}

/**
 * Counts the connections that this machine has translated to endpoints. `frontends`: only at these; absent: at all. `frontendOf` names the
 * frontend of a destination, or returns undefined for one that does not count. Resolves to the reason, as text, where they cannot be counted.
 */
export type TallyConnections = (
  frontends: readonly FrontendMatch[] | undefined,
  frontendOf: (destination: TalliedDestination) => string | undefined,
) => Promise<Tally | string>;

const protocols: readonly Protocol[] = ['TCP', 'UDP', 'SCTP'];

/** Reads the kernel's connection tracking by netlink. `open` defaults to the network namespace of this process. */
export function connectionTally(
  clock: Clock,
  open: () => NetlinkSocket | undefined = () => openNetlink({ protocol: netfilterProtocol }),
): TallyConnections {
  return async (frontends, frontendOf) => {
    try {
      const socket = open();
      if (socket === undefined) return 'this machine has no binary of koffi';
      try {
        return await new TallyReading(frontendOf).read(new NetlinkConnection(socket, clock), selectionsOf(frontends));
      } finally {
        socket.close();
      }
    } catch (error) {
      if (error instanceof NetlinkError || error instanceof MalformedNetlink) return error.message;
      throw error;
    }
  };
}

/** One list for each frontend that the kernel can select, or one of all connections of a protocol where there are many. */
function selectionsOf(frontends: readonly FrontendMatch[] | undefined): Selection[] {
  const families = [4, 6] as const;
  return families.flatMap((family) =>
    protocols.flatMap((protocol): Selection[] => {
      const alike = frontends?.filter((one) => one.protocol === protocol && familyOf(one) === family);
      if (alike?.length === 0) return [];
      if (alike === undefined || alike.length > talliedLists) return [{ family, protocol }];
      // The kernel does not compare addresses of IPv6, nor ports of SCTP, so equal requests would list the same twice.
      const selections = alike.map(({ port, ...match }): Selection => ({
        family,
        protocol,
        ...(protocol === 'SCTP' ? {} : { port }),
        ...(family === 4 && match.kind === 'address' ? { destination: match.address } : {}),
      }));
      return protocol === 'SCTP' ? selections.slice(0, 1).map(() => ({ family, protocol })) : distinct(selections);
    }),
  );
}

const familyOf = (match: FrontendMatch): number => (match.kind === 'address' ? match.address.family : match.family);

/** A list of a port at any address contains those at one address. */
function distinct(selections: readonly Selection[]): Selection[] {
  const anywhere = new Map(selections.filter(({ destination }) => destination === undefined).map((one) => [one.port, one]));
  return [...anywhere.values(), ...selections.filter(({ destination, port }) => destination !== undefined && !anywhere.has(port))];
}

/** A connection, for the sum of its pair of frontend and endpoint. */
interface Listed {
  readonly pair: string;
  readonly isActive: boolean;
  readonly packetsIn: number;
  readonly packetsOut: number;
}

type Pair = Pick<TalliedConnections, 'frontend' | 'protocol' | 'endpoint' | 'endpointPort'>;

class TallyReading {
  readonly #reader = new FlowReader();
  readonly #frontendOf: (destination: TalliedDestination) => string | undefined;
  /** By key of the reader. */
  readonly #pairs = new Map<string, Pair>();

  constructor(frontendOf: (destination: TalliedDestination) => string | undefined) {
    this.#frontendOf = frontendOf;
  }

  async read(connection: NetlinkConnection, selections: readonly Selection[]): Promise<Tally> {
    const sums = new Map<string, TalliedConnections>();
    let isWhole = true;
    for (const selection of selections) {
      const listed = await connection.list(listRequest(selection), this.#reading(selection));
      isWhole &&= listed.length < talliedConnections;
      for (const one of listed) this.#add(sums, one);
    }
    return { connections: [...sums.values()], isWhole };
  }

  /** A list that is interrupted is read again, so nothing is summed before its end. */
  #reading(selection: Selection): (payload: Uint8Array) => Listed | undefined {
    const { protocol } = selection;
    const reader = this.#reader;
    /** By key of the reader. False: it does not count, or belongs to another list: a kernel before 5.8 selects nothing. */
    const counts = new Map<string, boolean>();
    let read = 0;
    return (payload) => {
      if (read >= talliedConnections) return undefined;
      reader.read(payload, headerBytes, payload.length);
      if (reader.protocol !== protocol || !reader.isComplete || (reader.status & statusBits.translated) === 0) return undefined;
      const pair = reader.key;
      if (!counts.has(pair)) counts.set(pair, isSelected(reader, selection) && this.#addPair(pair, protocol));
      if (counts.get(pair) !== true) return undefined;
      read++;
      return { pair, isActive: isActive(reader), packetsIn: reader.original.packets, packetsOut: reader.reply.packets };
    };
  }

  /** Returns whether the pair counts. */
  #addPair(key: string, protocol: Protocol): boolean {
    const { destination, port, endpoint, endpointPort } = this.#reader;
    const frontend = this.#frontendOf({ address: destination, protocol, port });
    if (frontend === undefined) return false;
    this.#pairs.set(key, { frontend, protocol, endpoint, endpointPort });
    return true;
  }

  #add(sums: Map<string, TalliedConnections>, { pair: key, isActive: active, packetsIn, packetsOut }: Listed): void {
    const pair = this.#pairs.get(key);
    if (pair === undefined) return;
    const before = sums.get(key) ?? { active: 0, inactive: 0, packetsIn: 0, packetsOut: 0 };
    sums.set(key, {
      ...pair,
      active: before.active + (active ? 1 : 0),
      inactive: before.inactive + (active ? 0 : 1),
      packetsIn: before.packetsIn + packetsIn,
      packetsOut: before.packetsOut + packetsOut,
    });
  }
}

/** struct nfgenmsg. */
const headerBytes = 4;

function isSelected(reader: FlowReader, { destination, port }: Selection): boolean {
  if (port !== undefined && reader.port !== port) return false;
  return destination === undefined || sameAddress(reader.destination, destination);
}

function isActive({ protocol, state, status }: FlowReader): boolean {
  if (protocol === 'TCP') return state === tcpStates.established;
  if (protocol === 'SCTP') return state === sctpEstablished;
  return (status & statusBits.replied) !== 0;
}

/** Names a destination as a frontend of an address is named. */
export const addressFrontend = (destination: TalliedDestination): string => frontendKey({ kind: 'address', ...destination });
