import { countedTurnsFor, type CountedBy } from '../../../net/frontend.ts';

/** The backends that take turns, with the connections that each has. */
export interface CountedBackends {
  readonly by: CountedBy;
  /** By backend: its active connections. */
  readonly loads: readonly number[];
  /** By backend: whole numbers above 0. */
  readonly weights: readonly number[];
  /** As in Counting. */
  readonly first: number;
}

interface NextTurns {
  /** The turn of the next connection. */
  readonly turn: number;
  /** Connections that are expected until the order is set anew. */
  readonly expected: number;
}

/**
 * Returns the order of turns, as indexes of backends, in which the next connections are placed one after the other, each at the backend with the
 * lowest number then (`CountedBy`), as if none ended. Needs at least one backend.
 *
 * Among equal backends the number of the turn decides. So the order only depends on the connections and on the turn: when a connection has come that
 * was expected, the new order differs from the old one in its turn alone.
 *
 * When more connections are expected than there are turns, the order repeats, and each turn stands for several connections.
 */
export function countedOrder({ by, loads, weights, first }: CountedBackends, { turn, expected }: NextTurns): Uint16Array {
  const count = loads.length;
  const turns = countedTurnsFor(count);
  const order = new Uint16Array(turns);
  const scale = Math.max(1, expected / turns);
  const scaled = Float64Array.from(loads, (load) => load / scale);
  const numbers = Float64Array.from(scaled, (load, index) => numberOf(by, load, weights[index] ?? 1));
  for (let placed = 0; placed < turns; placed++) {
    const at = (turn + placed) % turns;
    let lowest = (first + at) % count;
    for (let step = 1, index = lowest + 1; step < count; step++, index++) {
      if (index >= count) index -= count;
      if ((numbers[index] ?? 0) < (numbers[lowest] ?? 0)) lowest = index;
    }
    order[at] = lowest;
    const load = (scaled[lowest] ?? 0) + 1;
    scaled[lowest] = load;
    numbers[lowest] = numberOf(by, load, weights[lowest] ?? 1);
  }
  return order;
}

/** The rules of IPVS (net/netfilter/ipvs/ip_vs_lc.c, ip_vs_wlc.c, ip_vs_sed.c, ip_vs_nq.c), for active connections alone. */
function numberOf(by: CountedBy, load: number, weight: number): number {
  switch (by) {
    case 'connections':
      return load;
    case 'weighted':
      return load / weight;
    case 'delay':
      return (load + 1) / weight;
    case 'idle':
      return load === 0 ? 0 : (load + 1) / weight;
  }
}
