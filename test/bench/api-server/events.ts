/**
 * `node events.ts < credentials` takes all EndpointSlices with the label of `eventLabel` as a watch delivers them, once in protobuf and once in
 * JSON, and prints what one event of each costs: octets, and microseconds of CPU to decode it and to read it into Herald's model too.
 */
import { text } from 'node:stream/consumers';
import process from 'node:process';
import { KubeClient } from '../../../src/kube/client/client.ts';
import { FormatChoice } from '../../../src/kube/format/format-choice.ts';
import type { ObjectFormat } from '../../../src/kube/format/object-format.ts';
import { endpointSliceOfAgent } from '../../../src/kube/format/protobuf/kinds/endpoint-slice.ts';
import type { RawObject } from '../../../src/kube/raw-object.ts';
import { parseObject } from '../../../src/model/parse.ts';
import { systemClock } from '../../../src/system/clock.ts';
import { eventLabel } from './event-slices.ts';

const rounds = 9;
/** Passes over all events in one round. */
const passes = 20;
const apiVersion = 'discovery.k8s.io/v1';

const { server = '', certificateAuthority: ca, token } = JSON.parse(await text(process.stdin)) as Record<string, string>;
const credentials = async () => ({ ca: ca ?? '', authorization: `Bearer ${token}` });
const client = new KubeClient({ server: new URL(server), credentials, expired: () => undefined }, { clock: systemClock });

interface Recorded {
  readonly name: string;
  readonly format: ObjectFormat;
  readonly chunks: readonly Buffer[];
  readonly events: number;
}

const recorded = [await record('protobuf', endpointSliceOfAgent), await record('JSON', undefined)];
client.close();

const results: Record<string, { octets: number; decode: number[]; read: number[] }> = {};
for (let round = 0; round < rounds; round++) {
  for (const { name, format, chunks, events } of recorded) {
    const octets = chunks.reduce((sum, { length }) => sum + length, 0) / events;
    const result = (results[name] ??= { octets, decode: [], read: [] });
    result.decode.push(microseconds(format, chunks, () => undefined) / events);
    result.read.push(microseconds(format, chunks, readAsAgent) / events);
  }
}
const figures = Object.entries(results).map(([name, { octets, decode, read }]) => [
  name,
  { octets: Math.round(octets), 'decode µs': median(decode), 'decode and read µs': median(read) },
]);
process.stdout.write(`${JSON.stringify(Object.fromEntries(figures))}\n`, () => process.exit(0));

/** Keeps the octets of a watch up to the end of its list. */
async function record(name: string, table: ConstructorParameters<typeof FormatChoice>[0]): Promise<Recorded> {
  const choice = new FormatChoice(table);
  const query = {
    watch: true,
    allowWatchBookmarks: true,
    sendInitialEvents: true,
    resourceVersionMatch: 'NotOlderThan',
    labelSelector: eventLabel,
  };
  const { contentType, body } = await client.stream(
    `/apis/${apiVersion}/endpointslices`,
    query,
    new AbortController().signal,
    choice.accept,
  );
  const format = choice.formatOf(contentType);
  const chunks: Buffer[] = [];
  let events = 0;
  const reader = format.eventReader();
  for await (const chunk of body) {
    chunks.push(chunk);
    for (const event of reader.push(chunk)) {
      if (event.type === 'bookmark' && event.complete) return { name, format, chunks, events };
      events++;
    }
  }
  throw new Error('the list ended before it was complete');
}

function readAsAgent(raw: RawObject): void {
  parseObject({ ...raw, apiVersion, kind: 'EndpointSlice' }, { unknownFields: 'warned of', forAgent: true });
}

/** CPU of one pass over the octets. */
function microseconds(format: ObjectFormat, chunks: readonly Buffer[], work: (raw: RawObject) => void): number {
  const before = process.cpuUsage();
  for (let pass = 0; pass < passes; pass++) {
    const reader = format.eventReader();
    for (const chunk of chunks) for (const event of reader.push(chunk)) if (event.type !== 'bookmark') work(event.object);
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / passes;
}

function median(values: readonly number[]): number {
  return Number((values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0).toFixed(1));
}
