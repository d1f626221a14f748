import type { Lab } from './lab.ts';

/** The part of `show bgp neighbors json` that tests look at. */
interface Neighbor {
  readonly bgpState: string;
}

/** How many of a router's neighbours with addresses of this family are Established. */
export async function establishedSessions(lab: Lab, router: string, family: 4 | 6): Promise<number> {
  const neighbors = await lab.router(router).show<Readonly<Record<string, Neighbor>>>('show bgp neighbors json');
  return Object.entries(neighbors).filter(
    ([address, { bgpState }]) => address.includes(':') === (family === 6) && bgpState === 'Established',
  ).length;
}

/** First hops of the kernel's route to exactly this address, sorted; empty where there is none. */
export async function nextHops(lab: Lab, machine: string, address: string): Promise<string[]> {
  const routes = await lab.machine(machine).kernelRoutes(address.includes(':') ? 6 : 4);
  const prefixes = new Set([address, `${address}/32`, `${address}/128`]);
  const matching = routes.filter(({ dst }) => prefixes.has(dst));
  const gateways = matching.flatMap(({ gateway, nexthops }) => (nexthops ?? [{ gateway }]).map((hop) => hop.gateway));
  return gateways.filter((gateway) => gateway !== undefined).toSorted();
}

/** Waits until the router's kernel sends the address to exactly these first hops. */
export async function untilNextHops(
  lab: Lab,
  machine: string,
  address: string,
  wanted: readonly string[],
  timeoutMs = 20_000,
): Promise<void> {
  const sorted = [...wanted].toSorted();
  await lab.until(
    `${machine} routes ${address} to ${sorted.join(', ') || 'nobody'}`,
    async (note) => note(await nextHops(lab, machine, address)).join() === sorted.join(),
    timeoutMs,
  );
}
