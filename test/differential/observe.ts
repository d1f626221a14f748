import { offsetAddress, type Flow } from './flows.ts';
import type { Sent, Stand } from './stand.ts';
import { placeText, type Sighting } from './wire.ts';

/** What became of the packets of one flow. */
export interface Outcome {
  /** "10.160.0.11:8080 as itself", "... as 10.99.0.1": where it came out, and the source it had there; "reset", "icmp", "nothing". */
  readonly fates: ReadonlySet<string>;
  /** A client got another endpoint for its second packet than for its first. */
  readonly moved: boolean;
}

const freshSources = 1_000_000;
/** Counts up through the run: conntrack and affinity have not seen these sources and ports. */
export interface Fresh {
  id: number;
  source: number;
}

/** Sends each flow's packets: `tries` of them, or that many pairs where affinity is to be seen. */
export async function observe(stand: Stand, flows: readonly Flow[], tries: number, fresh: Fresh): Promise<Outcome[]> {
  const packets: Sent[] = [];
  const send = (flow: Flow, source: string, to: Pick<Flow, 'destination' | 'port'>): Sent => {
    const id = ++fresh.id;
    const packet = { ...flow, ...to, source, sourcePort: 1_024 + (id % 64_000), id };
    packets.push(packet);
    return packet;
  };
  const sent = flows.map((flow) =>
    Array.from({ length: tries }, (_, index) => {
      const offset = flow.affinity ? (fresh.source = (fresh.source + 1) % freshSources) : index;
      const source = flow.many ? offsetAddress(flow.source, offset + 1) : flow.source;
      return { first: send(flow, source, flow), second: flow.again === undefined ? undefined : send(flow, source, flow.again) };
    }),
  );
  const seen = await stand.send(packets);
  const fate = ({ id, source }: Sent): string => fateOf(seen.get(id) ?? [], source);
  /** Undefined: it did not arrive, or where it was sent to, which is no endpoint that somebody chose. */
  const endpointOf = (packet: Sent): string | undefined => {
    const [endpoint, ...arrived] = fate(packet).split(' as ');
    return arrived.length === 0 || endpoint === placeText(packet.destination, packet.port) ? undefined : endpoint;
  };
  return sent.map((pairs) => ({
    fates: new Set(pairs.map(({ first }) => fate(first))),
    moved: pairs.some(({ first, second }) => {
      const [before, after] = [endpointOf(first), second === undefined ? undefined : endpointOf(second)];
      return before !== undefined && after !== undefined && before !== after;
    }),
  }));
}

export function merged(a: Outcome, b: Outcome): Outcome {
  return { fates: a.fates.union(b.fates), moved: a.moved || b.moved };
}

/** A packet that arrived somewhere may be refused there: that it arrived is what counts. */
export function fateOf(sightings: readonly Sighting[], source: string): string {
  const arrivals = sightings.flatMap((sighting) => {
    if (sighting.kind !== 'packet') return [];
    return [`${placeText(sighting.destination, sighting.port)} as ${sighting.source === source ? 'itself' : sighting.source}`];
  });
  const others = sightings.map(({ kind }) => kind);
  const all = new Set<string>(arrivals.length > 0 ? arrivals : others);
  return all.size === 0 ? 'nothing' : [...all].toSorted().join(' and ');
}
