/**
 * Returns the order in which backends take turns, as indexes, at most `maximum`. Each backend has as many turns as its weight says relative
 * to the others, at least one, spread as evenly as possible: the smooth weighted round robin of nginx (ngx_http_upstream_round_robin.c).
 * Backends beyond `maximum` have none. When the weights need more turns, they are rounded. `weights`: whole numbers above 0.
 */
export function turnOrder(weights: readonly number[], maximum: number): Uint16Array {
  const turns = turnsOf(weights.slice(0, maximum), maximum);
  const total = turns.reduce((sum, each) => sum + each, 0);
  if (total === turns.length) return Uint16Array.from(turns.keys());
  const credit = turns.map(() => 0);
  return Uint16Array.from({ length: total }, () => {
    let next = 0;
    for (const [index, each] of turns.entries()) {
      credit[index] = (credit[index] ?? 0) + each;
      if ((credit[index] ?? 0) > (credit[next] ?? 0)) next = index;
    }
    credit[next] = (credit[next] ?? 0) - total;
    return next;
  });
}

/** Returns the number of turns of each backend. */
function turnsOf(weights: readonly number[], maximum: number): number[] {
  const divisor = weights.reduce((a, b) => greatestCommonDivisor(a, b), 0);
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  if (total / divisor <= maximum) return weights.map((weight) => weight / divisor);
  const spare = maximum - weights.length;
  return weights.map((weight) => 1 + Math.floor((spare * weight) / total));
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b);
}

/** Returns the order from another turn on. Nodes begin at different turns, so that they do not all begin with the same backend. */
export function beginningAt(order: Uint16Array, turn: number): Uint16Array {
  const first = order.length === 0 ? 0 : turn % order.length;
  return Uint16Array.of(...order.subarray(first), ...order.subarray(0, first));
}
