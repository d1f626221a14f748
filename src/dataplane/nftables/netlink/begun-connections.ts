import { addressFromBytes, type Family } from '../../../net/address.ts';
import type { Protocol } from '../../../net/frontend.ts';
import type { Clock } from '../../../system/clock.ts';
import { listAttributes, readAttributes, readHostNumber } from '../../../system/netlink/attributes.ts';
import { MalformedNetlink, NetlinkError } from '../../../system/netlink/error.ts';
import { dataAttributes, elementListAttributes, expressionAttributes, messages } from './constants.ts';
import type { NetlinkSocket } from '../../../system/netlink/socket.ts';
import { NfTablesConnection } from './nf-tables-connection.ts';
import { begunSeconds, begunSet, enteredSet } from '../../ruleset/begun.ts';
import { families, tableName } from '../../ruleset/layout.ts';
import type { Begun, ListBegun } from '../../conntrack/dropped-connections.ts';
import { pairKey } from '../../conntrack/flow-reader.ts';

const elementAttributes = { key: 1, expiration: 5, expression: 7 } as const;
const counterPackets = 2;
/** An element that is listed again has its time by the kernel's clock, which differs by less than this. */
const samePeriod = 2_000;
const protocols = new Map<number, Protocol>([
  [6, 'TCP'],
  [17, 'UDP'],
]);

/** Returns the function that lists the connections noted by our tables (begun.ts). Without them there are none. Its map belongs to the caller. */
export function begunConnections(clock: Clock): ListBegun {
  let latest: ReadonlyMap<string, Begun> = new Map();
  return async (socket) => {
    const connection = new NfTablesConnection(socket, clock);
    const found = new Map<string, Begun>();
    for (const family of families) {
      for (const element of await listSet(connection, family, begunSet)) {
        const begun = readBegun(element, family, clock.now());
        if (begun === undefined) continue;
        const key = pairKey(begun.pair);
        const known = latest.get(key);
        found.set(key, known !== undefined && Math.abs(known.at - begun.at) < samePeriod ? { ...begun, at: known.at } : begun);
      }
    }
    latest = new Map(found);
    return found;
  };
}

/** New connections that came in by one interface. */
export interface EnteredConnections {
  readonly family: Family;
  /** Index of the interface. */
  readonly index: number;
  /** Their number. It begins anew when none has come for an hour, or with the rules. */
  readonly count: number;
}

/** Lists the connections of clients that came in by each interface (begun.ts). Rejects with NetlinkError or MalformedNetlink. */
export async function listEntered(socket: NetlinkSocket, clock: Clock): Promise<EnteredConnections[]> {
  const connection = new NfTablesConnection(socket, clock);
  const found: EnteredConnections[] = [];
  for (const family of families) {
    for (const element of await listSet(connection, family, enteredSet)) {
      const attributes = readAttributes(element);
      const index = readHostNumber(readAttributes(attributes.get(elementAttributes.key) ?? new Uint8Array()).get(dataAttributes.value));
      if (index !== undefined) found.push({ family, index, count: packetsOf(attributes) });
    }
  }
  return found;
}

/** Returns the elements of a set. Without the table there are none. */
async function listSet(connection: NfTablesConnection, family: Family, set: string): Promise<readonly Uint8Array[]> {
  try {
    const payloads = await connection.list(messages.getElement, family, [
      [elementListAttributes.table, tableName],
      [elementListAttributes.set, set],
    ]);
    return payloads.flatMap((payload) =>
      listAttributes(readAttributes(payload).get(elementListAttributes.elements) ?? new Uint8Array()).flatMap(({ type, value }) =>
        type === 1 ? [value] : [],
      ),
    );
  } catch (error) {
    if (error instanceof NetlinkError && error.code === 'ENOENT') return [];
    throw error;
  }
}

const readLong = (octets: Uint8Array): number => Number(new DataView(octets.buffer, octets.byteOffset, 8).getBigUint64(0));

/** Reads an element: service address, protocol, port, endpoint address and port, each padded to four octets. */
function readBegun(element: Uint8Array, family: Family, now: number): Begun | undefined {
  const attributes = readAttributes(element);
  const key = readAttributes(attributes.get(elementAttributes.key) ?? new Uint8Array()).get(dataAttributes.value);
  const left = attributes.get(elementAttributes.expiration);
  if (key === undefined || left?.length !== 8) return undefined;
  const octets = family === 4 ? 4 : 16;
  if (key.length !== 2 * octets + 12) throw new MalformedNetlink(`a begun connection of ${key.length} octets`);
  const view = new DataView(key.buffer, key.byteOffset, key.length);
  const protocol = protocols.get(view.getUint8(octets));
  if (protocol === undefined) return undefined;
  const pair = {
    destination: addressFromBytes(key.subarray(0, octets)),
    protocol,
    port: view.getUint16(octets + 4),
    endpoint: addressFromBytes(key.subarray(octets + 8, 2 * octets + 8)),
    endpointPort: view.getUint16(2 * octets + 8),
  };
  return { pair, at: now - (begunSeconds * 1000 - readLong(left)), packets: packetsOf(attributes) };
}

function packetsOf(element: ReadonlyMap<number, Uint8Array>): number {
  const expression = readAttributes(element.get(elementAttributes.expression) ?? new Uint8Array()).get(expressionAttributes.data);
  const packets = readAttributes(expression ?? new Uint8Array()).get(counterPackets);
  return packets?.length === 8 ? readLong(packets) : 0;
}
