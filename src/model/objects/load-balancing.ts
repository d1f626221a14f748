/** How an endpoint is chosen for a new connection, with the short name that IPVS has for it. Absent: IPVS has none. */
const algorithms = {
  random: undefined,
  'round-robin': 'rr',
  'weighted-round-robin': 'wrr',
  'least-connections': 'lc',
  'weighted-least-connections': 'wlc',
  'shortest-expected-delay': 'sed',
  'never-queue': 'nq',
  consistent: 'mh',
  'source-hash': 'sh',
  'destination-hash': 'dh',
} as const satisfies Readonly<Record<string, string | undefined>>;

export type LoadBalancing = keyof typeof algorithms;
type ShortName = Exclude<(typeof algorithms)[LoadBalancing], undefined>;

export const loadBalancings = Object.keys(algorithms) as LoadBalancing[];

const byShortName: ReadonlyMap<string, LoadBalancing> = new Map(
  loadBalancings.flatMap((name) => (algorithms[name] === undefined ? [] : [[algorithms[name], name] as const])),
);

/** Every name that is accepted: Herald's, then those of IPVS. */
export const loadBalancingNames: readonly (LoadBalancing | ShortName)[] = [...loadBalancings, ...([...byShortName.keys()] as ShortName[])];

/** Returns the algorithm with this name, which may be the short one of IPVS. Undefined: there is none. */
export function loadBalancingOf(name: string): LoadBalancing | undefined {
  return byShortName.get(name) ?? loadBalancings.find((one) => one === name);
}
