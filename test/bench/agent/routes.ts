import { until } from '../../lab/until.ts';
import type { VtySession } from '../runner/vty-session.ts';

/** Waits until FRR has this number of IPv4 routes. */
export async function untilRoutes(vty: VtySession, wanted: number): Promise<void> {
  await until(
    `FRR has ${wanted} routes`,
    async (note) => {
      const text = await vty.ask('show bgp ipv4 unicast statistics');
      return note(Number(/Total Prefixes\s*:\s*(\d+)/.exec(text)?.[1])) === wanted;
    },
    300_000,
  );
}
