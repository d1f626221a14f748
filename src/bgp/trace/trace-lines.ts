import { defined } from '../../lang/defined.ts';
import { formatAddress, parseAddress } from '../../net/address.ts';
import type { Streamed } from '../diagnosis/event-stream.ts';
import type { Endpoint, Endpoints } from '../transport/transport.ts';
import type { TracedConnection, TraceEvent } from './trace-event.ts';

/**
 * Writes an event as one line of JSON, for a program in another process. Times are RFC 3339, addresses text, octets Base64; all other
 * fields are those of `TraceEvent`.
 */
export function encodeTraceLine(event: Streamed<TraceEvent>): string {
  if (event.type === 'lost') return JSON.stringify(event);
  const { ends, ...connection } = event.connection;
  const written = { ...connection, ...(ends === undefined ? {} : { ends: { local: endOf(ends.local), remote: endOf(ends.remote) } }) };
  const octets = 'octets' in event ? { octets: Buffer.from(event.octets).toString('base64') } : {};
  return JSON.stringify({ ...event, at: event.at.toISOString(), connection: written, ...octets });
}

const endOf = ({ address, port }: Endpoint): WrittenEnd => ({ address: formatAddress(address), port });

interface WrittenEnd {
  readonly address: string;
  readonly port: number;
}

interface WrittenEvent {
  readonly type: string;
  readonly at: string;
  readonly octets?: string;
  readonly connection: Omit<TracedConnection, 'ends'> & { readonly ends?: { readonly local: WrittenEnd; readonly remote: WrittenEnd } };
}

/**
 * Reads a line of `encodeTraceLine`, perhaps from another version. Returns undefined for an unknown event. Throws SyntaxError if the line
 * is not JSON.
 */
export function decodeTraceLine(line: string): Streamed<TraceEvent> | undefined {
  const written = JSON.parse(line) as WrittenEvent;
  if (!known.has(written.type)) return undefined;
  if (written.type === 'lost') return written as unknown as Streamed<TraceEvent>;
  const { ends, ...connection } = written.connection;
  const read = ends === undefined ? undefined : endsOf(ends.local, ends.remote);
  const octets = written.octets === undefined ? {} : { octets: Uint8Array.from(Buffer.from(written.octets, 'base64')) };
  const facts: TracedConnection = { ...connection, ...defined({ ends: read }) };
  // oxlint-disable-next-line no-restricted-globals -- reading a date from text is pure
  return { ...written, at: new Date(written.at), connection: facts, ...octets } as TraceEvent;
}

const known: ReadonlySet<string> = new Set<Streamed<TraceEvent>['type']>(['opened', 'present', 'message', 'unreadable', 'closed', 'lost']);

function endsOf(local: WrittenEnd, remote: WrittenEnd): Endpoints | undefined {
  const [ours, theirs] = [parseAddress(local.address), parseAddress(remote.address)];
  if (!ours.ok || !theirs.ok) return undefined;
  return { local: { address: ours.value, port: local.port }, remote: { address: theirs.value, port: remote.port } };
}
