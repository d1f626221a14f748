import type { Router } from './router.ts';
import { until } from './until.ts';

/** Returns the states of a router's configured and accepted neighbors in a family, by address, as bgpd reports them. */
export async function sessionStates(router: Router, family: 4 | 6): Promise<ReadonlyMap<string, string>> {
  const summary = await router.show<{ peers?: Record<string, { state: string }> }>(`show bgp ipv${family} unicast summary json`);
  return new Map(Object.entries(summary.peers ?? {}).map(([address, { state }]) => [address, state]));
}

/** Waits until every neighbor of these routers is Established in both families. */
export async function sessionsUp(routers: readonly Router[], timeoutMs?: number): Promise<void> {
  await Promise.all(
    routers.flatMap((router) =>
      ([4, 6] as const).map((family) =>
        until(
          `all IPv${family} sessions of ${router.name} are Established`,
          async (note) => {
            const states = [...note(await sessionStates(router, family)).values()];
            return states.length > 0 && states.every((state) => state === 'Established');
          },
          timeoutMs,
        ),
      ),
    ),
  );
}
