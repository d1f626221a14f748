import { offsetAddress, type Flow } from './flows.ts';
import type { Sent, Stand } from './stand.ts';
import { placeText, type Sighting } from './wire.ts';

/** The outcome for the packets of one flow. */
export interface Outcome {
  /**
   * The destination that a packet reached and the source it had there ("10.160.0.11:8080 as itself", "... as 10.99.0.1"), or "reset",
   * "icmp", "nothing".
   */
  readonly fates: ReadonlySet<string>;
  /** True: a client's second packet reached another endpoint than its first. */
  readonly moved: boolean;
}

const freshSources = 1_000_000;
/** Counters that run through the whole test, so that conntrack and affinity have not seen the sources and ports before. */
export interface Fresh {
  id: number;
  source: number;
}

/** Sends `tries` packets for each flow, or that many pairs of packets for flows with affinity. */
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
  /** Returns the chosen endpoint. Undefined: the packet did not arrive, or it arrived at its original destination, which is no choice. */
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

/** Returns the fate of a packet. A delivered packet may still be refused at its destination; it counts as delivered. */
export function fateOf(sightings: readonly Sighting[], source: string): string {
  const arrivals = sightings.flatMap((sighting) => {
    if (sighting.kind !== 'packet') return [];
    return [`${placeText(sighting.destination, sighting.port)} as ${sighting.source === source ? 'itself' : sighting.source}`];
  });
  const others = sightings.map(({ kind }) => kind);
  const all = new Set<string>(arrivals.length > 0 ? arrivals : others);
  return all.size === 0 ? 'nothing' : [...all].toSorted().join(' and ');
}
