/** Work of a connection: it waits for a whole request header, or for the client to take an answer. */
export type Phase = 'waiting' | 'serving';

/** A connection as a limiter sees it. */
export interface LimitedConnection {
  /** The address of its client. */
  readonly address: string;
  /** The subnet of the address: one machine may use all its addresses. */
  readonly network: string;
  readonly phase: Phase;
  /** Grows with each phase of each connection. */
  readonly since: number;
}

/** The connections of one address in the order of their phases' beginnings, which is the order of insertion. */
class Client<V extends LimitedConnection> {
  readonly #byPhase: Readonly<Record<Phase, Set<V>>> = { waiting: new Set(), serving: new Set() };

  get size(): number {
    return this.#byPhase.waiting.size + this.#byPhase.serving.size;
  }

  in(phase: Phase): Set<V> {
    return this.#byPhase[phase];
  }

  /** The oldest connection that waits, else the oldest: a running answer is given up last. */
  get dispensable(): V | undefined {
    const [waiting] = this.#byPhase.waiting;
    const [serving] = this.#byPhase.serving;
    return waiting ?? serving;
  }
}

class Network<V extends LimitedConnection> {
  readonly clients = new Map<string, Client<V>>();
  size = 0;
}

/**
 * The connections that share a limit. When there are too many, `dispensable` names the one to close: of the client with the most in the
 * subnet with the most. So a client with one connection keeps it while another client or subnet has more.
 */
export class ConnectionLimiter<V extends LimitedConnection> {
  readonly #networks = new Map<string, Network<V>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  sizeOf(address: string, network: string): number {
    return this.#networks.get(network)?.clients.get(address)?.size ?? 0;
  }

  add(connection: V): void {
    let network = this.#networks.get(connection.network);
    if (network === undefined) this.#networks.set(connection.network, (network = new Network()));
    let client = network.clients.get(connection.address);
    if (client === undefined) network.clients.set(connection.address, (client = new Client()));
    client.in(connection.phase).add(connection);
    network.size++;
    this.#size++;
  }

  delete(connection: V): void {
    const network = this.#networks.get(connection.network);
    const client = network?.clients.get(connection.address);
    if (network === undefined || client?.in(connection.phase).delete(connection) !== true) return;
    if (client.size === 0) network.clients.delete(connection.address);
    network.size--;
    if (network.size === 0) this.#networks.delete(connection.network);
    this.#size--;
  }

  /** Of clients with equally many connections, the one that waits longest gives up a connection. */
  dispensable(): V | undefined {
    const clients = largest([...this.#networks.values()]).flatMap((network) => [...network.clients.values()]);
    const candidates = largest(clients).flatMap(({ dispensable }) => dispensable ?? []);
    return candidates.reduce<V | undefined>((best, one) => (best === undefined || isBefore(one, best) ? one : best), undefined);
  }

  /** Returns the connection of a client to close first. */
  dispensableOf(address: string, network: string): V | undefined {
    return this.#networks.get(network)?.clients.get(address)?.dispensable;
  }
}

/** Returns all of the largest. */
function largest<T extends { readonly size: number }>(all: readonly T[]): readonly T[] {
  const size = Math.max(...all.map((one) => one.size));
  return all.filter((one) => one.size === size);
}

function isBefore(one: LimitedConnection, other: LimitedConnection): boolean {
  if (one.phase !== other.phase) return one.phase === 'waiting';
  return one.since < other.since;
}
