import { offsetAddress, type Flow } from './flows.ts';
import type { Sent, Stand } from './stand.ts';
import type { Sighting } from './wire.ts';

/** What became of the packets of one flow. */
export interface Outcome {
  /** "10.244.64.11:8080 as itself", "... as 10.99.0.1": where it came out, and the source it had there; "reset", "icmp", "nothing". */
  readonly fates: ReadonlySet<string>;
  /** A source that sent twice had another fate the second time. */
  readonly moved: boolean;
}

const sourcesPerTry = 4_000;
/** Counts up through the run: conntrack and affinity have not seen these sources and ports. */
export interface Fresh {
  id: number;
  source: number;
}

/** Sends each flow's packets: `tries` of them, or that many pairs where affinity is to be seen. */
export async function observe(stand: Stand, flows: readonly Flow[], tries: number, fresh: Fresh): Promise<Outcome[]> {
  const packets: Sent[] = [];
  const planned = flows.map((flow) => {
    const ids: number[][] = [];
    for (let index = 0; index < tries; index++) {
      const offset = flow.affinity ? (fresh.source = (fresh.source + 1) % (4 * sourcesPerTry)) : index;
      const source = flow.many ? offsetAddress(flow.source, offset + 1) : flow.source;
      const pair = (flow.affinity ? [0, 1] : [0]).map(() => {
        const id = ++fresh.id;
        packets.push({ ...flow, source, sourcePort: 1_024 + (id % 64_000), id });
        return id;
      });
      ids.push(pair);
    }
    return { ids };
  });
  const sources = new Map(packets.map(({ id, source }) => [id, source]));
  const seen = await stand.send(packets);
  return planned.map(({ ids }) => {
    const fates = ids.map((pair) => pair.map((id) => fateOf(seen.get(id) ?? [], sources.get(id) ?? '')));
    return { fates: new Set(fates.flat()), moved: fates.some(([first, second]) => second !== undefined && second !== first) };
  });
}

export function merged(a: Outcome, b: Outcome): Outcome {
  return { fates: a.fates.union(b.fates), moved: a.moved || b.moved };
}

/** A packet that arrived somewhere may be refused there: that it arrived is what counts. */
function fateOf(sightings: readonly Sighting[], source: string): string {
  const arrivals = sightings.flatMap((sighting) => {
    if (sighting.kind !== 'packet') return [];
    const to = sighting.destination.includes(':') ? `[${sighting.destination}]` : sighting.destination;
    return [`${to}:${sighting.port} as ${sighting.source === source ? 'itself' : sighting.source}`];
  });
  const others = sightings.map(({ kind }) => kind);
  const all = new Set<string>(arrivals.length > 0 ? arrivals : others);
  return all.size === 0 ? 'nothing' : [...all].toSorted().join(' and ');
}
