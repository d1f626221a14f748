import { quantile } from '../runner/statistics.ts';
import { churnedSequence } from './addresses.ts';
import type { Change } from './load-program.ts';
import type { Times } from './results.ts';
import type { RuleTimes } from './rule-times.ts';

export function timesOf(milliseconds: readonly number[]): Times {
  const sorted = milliseconds.toSorted((a, b) => a - b);
  const rounded = (q: number): number => Math.round(quantile(sorted, q) * 10) / 10;
  return { p50: rounded(0.5), p99: rounded(0.99), count: sorted.length };
}

/** Returns the times from the request that changed an EndpointSlice to the kernel's report of its new endpoint. */
export function sliceToRule(changes: readonly Change[], times: RuleTimes): Times {
  const took = changes.flatMap(({ name, at }) => {
    const [, second = 0, third = 0, fourth = 0] = name.split('.').map(Number);
    const committed = times.of(churnedSequence(second, third, fourth));
    return committed === undefined ? [] : [committed - at];
  });
  return timesOf(took);
}

/** Returns the times from the request that made a Service to the announcement of its address. */
export function serviceToRoute(
  services: readonly Change[],
  addresses: Readonly<Record<string, string>>,
  routes: Readonly<Record<string, number>>,
): Times {
  return timesOf(
    services.flatMap(({ name, at }) => {
      const announced = routes[`${addresses[name]}/32`];
      return announced === undefined ? [] : [announced - at];
    }),
  );
}
