import { formatAddress } from '../../../net/address.ts';
import { countedOrder } from './counted-order.ts';
import { frontendFamily, frontendKey, type Backend, type Counting, type Frontend, type ServiceForwarding } from '../../../net/frontend.ts';
import type { ActiveConnections, CountedPort } from '../../conntrack/active-connections.ts';
import type { SharedTurns } from '../netlink/turn-counters.ts';
import { sharedTurns, type TurnsView } from '../../ruleset/turns.ts';

/** The latest look at the connections. */
export interface SeenConnections {
  /** By Service port and family, and by endpoint (`endpointText`): its active connections. */
  readonly loads: ReadonlyMap<string, ReadonlyMap<string, number>>;
  /** By chain (`chainText`): the turns taken since it exists, and since the look before. */
  readonly taken: ReadonlyMap<string, { readonly ever: number; readonly lately: number }>;
}

export const nothingSeen: SeenConnections = { loads: new Map(), taken: new Map() };

type Services = ReadonlyMap<string, ServiceForwarding>;
type CountedFrontend = Frontend & { readonly counting: Counting };

/** True when the turns of some frontend follow its connections. */
export const isCounted = ({ frontends }: ServiceForwarding): boolean => frontends.some(({ counting }) => counting !== undefined);

/** Returns the ports of the endpoints whose connections matter, each once. */
export function talliedPorts(services: Services): readonly CountedPort[] {
  const ports = new Map<string, CountedPort>();
  for (const { match, backends, localBackends } of countedFrontends(services))
    for (const { port } of [...backends, ...localBackends]) {
      const tallied = { family: frontendFamily(match), protocol: match.protocol, endpointPort: port };
      ports.set(Object.values(tallied).join(' '), tallied);
    }
  return [...ports.values()];
}

/** Returns the chains of turns of these Services, each once. */
export function chainsOf(services: Services): readonly SharedTurns[] {
  const chains = new Map<string, SharedTurns>();
  for (const frontend of countedFrontends(services))
    for (const view of ['any', 'local'] as const) {
      const chain = chainOf(frontend, view);
      if (chain !== undefined) chains.set(chainText(chain), chain);
    }
  return [...chains.values()];
}

/** Returns the active connections of each endpoint, over all frontends of its Service port. */
export function loadsOf(services: Services, tallies: readonly ActiveConnections[]): SeenConnections['loads'] {
  const owners = new Map<string, CountedFrontend>();
  for (const frontend of countedFrontends(services)) owners.set(frontendKey(frontend.match), frontend);
  const loads = new Map<string, Map<string, number>>();
  for (const { pair, active } of tallies) {
    const { destination: address, protocol, port, endpoint, endpointPort } = pair;
    const owner =
      owners.get(frontendKey({ kind: 'address', address, protocol, port })) ??
      owners.get(frontendKey({ kind: 'nodePort', family: address.family, protocol, port }));
    if (owner === undefined) continue;
    const text = servicePortText(owner);
    const ofPort = loads.get(text) ?? new Map<string, number>();
    loads.set(text, ofPort);
    const name = endpointText({ address: endpoint, port: endpointPort });
    ofPort.set(name, (ofPort.get(name) ?? 0) + active);
  }
  return loads;
}

/** Returns the forwarding with turns that follow what was seen. Frontends without counting stay as they are. */
export function withTurns(forwarding: ServiceForwarding, seen: SeenConnections): ServiceForwarding {
  // The frontends of a Service port have the same lists of backends.
  const known = new Map<readonly Backend[], Uint16Array>();
  const order = (frontend: CountedFrontend, view: TurnsView): Uint16Array => {
    const backends = view === 'any' ? frontend.backends : frontend.localBackends;
    const found = known.get(backends) ?? orderOf(frontend, view, seen);
    known.set(backends, found);
    return found;
  };
  const frontends = forwarding.frontends.map((frontend) => {
    if (!hasCounting(frontend)) return frontend;
    const { turns, localTurns } = frontend;
    return {
      ...frontend,
      ...(turns === undefined ? {} : { turns: order(frontend, 'any') }),
      ...(localTurns === undefined ? {} : { localTurns: order(frontend, 'local') }),
    };
  });
  return { ...forwarding, frontends };
}

/** True when two forms of a forwarding, both from `withTurns`, have the same turns. */
export function hasSameTurns(one: ServiceForwarding, other: ServiceForwarding): boolean {
  const isSame = (a: Uint16Array | undefined, b: Uint16Array | undefined): boolean =>
    a === b || (a?.length === b?.length && a?.every((backend, turn) => backend === b?.[turn]) === true);
  return one.frontends.every((frontend, index) => {
    const { turns, localTurns } = other.frontends[index] ?? {};
    return isSame(frontend.turns, turns) && isSame(frontend.localTurns, localTurns);
  });
}

export const chainText = ({ family, shared }: SharedTurns): string => `${family} ${shared}`;

function orderOf(frontend: CountedFrontend, view: TurnsView, { loads, taken }: SeenConnections): Uint16Array {
  const { counting, backends, localBackends } = frontend;
  const ofPort = loads.get(servicePortText(frontend));
  const chain = chainOf(frontend, view);
  const { ever = 0, lately = 0 } = (chain === undefined ? undefined : taken.get(chainText(chain))) ?? {};
  return countedOrder(
    {
      by: counting.by,
      loads: (view === 'any' ? backends : localBackends).map((backend) => ofPort?.get(endpointText(backend)) ?? 0),
      weights: view === 'any' ? counting.weights : counting.localWeights,
      first: counting.first,
    },
    { turn: ever, expected: lately },
  );
}

function chainOf({ match, turns, localTurns, counting }: CountedFrontend, view: TurnsView): SharedTurns | undefined {
  const order = view === 'any' ? turns : localTurns;
  return order === undefined ? undefined : { family: frontendFamily(match), shared: sharedTurns(counting, view, order.length) };
}

function countedFrontends(services: Services): CountedFrontend[] {
  return [...services.values()].flatMap(({ frontends }) => frontends.filter(hasCounting));
}

const hasCounting = (frontend: Frontend): frontend is CountedFrontend => frontend.counting !== undefined;

const servicePortText = ({ match, counting }: CountedFrontend): string => `${frontendFamily(match)} ${counting.servicePort}`;

const endpointText = ({ address, port }: Pick<Backend, 'address' | 'port'>): string => `${formatAddress(address)} ${port}`;
