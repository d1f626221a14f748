import { formatAddress, type Address } from '../../net/address.ts';
import { mixBits, textHash } from '../../net/text-hash.ts';
import type { Cancel, Clock } from '../../system/clock.ts';
import type { Random } from '../../system/random.ts';
import type { ProbeOutcome, ProbeTcp } from '../../system/http/tcp-probe.ts';
import { limits } from '../limits.ts';

/** An address and a TCP port to which this node's forwarding sends connections. */
export interface ProbeTarget {
  readonly address: Address;
  readonly port: number;
  /** It runs on this node. */
  readonly local: boolean;
}

export interface ProbeObservation {
  /** "10.244.1.10:8080" or "[fd00::1]:8080". */
  readonly endpoint: string;
  readonly outcome: ProbeOutcome;
  /** The connection was this node's own and not a client's. */
  readonly own: true;
}

interface ActiveProbesComponents {
  readonly probe: ProbeTcp;
  readonly clock: Clock;
  readonly random: Random;
}

interface ActiveProbesOptions {
  readonly node: string;
  /** The names of all nodes of the cluster. */
  readonly nodes: () => Iterable<string>;
  /** Ready or serving endpoints. They may repeat. */
  readonly targets: () => Iterable<ProbeTarget>;
  /** True if there is nothing to learn: connections of clients in the last minutes tell, or the node has no way to the address. */
  readonly isKnown: (target: ProbeTarget, endpoint: string) => boolean;
  readonly onOutcome: (observation: ProbeObservation) => void;
}

/** What is known of one endpoint. */
interface Entry {
  readonly endpoint: string;
  readonly target: ProbeTarget;
  /** Whether this node is one of those that probe it. Absent: not decided for the present nodes. */
  isOurs?: boolean;
  /** When it may be probed next, on the clock's scale. */
  dueAt: number;
  /** Probes in a row that failed. */
  failures: number;
  isNew: boolean;
  isOpen: boolean;
}

/**
 * Opens TCP connections to endpoints of which clients' connections tell nothing. A node probes an endpoint if it runs there, or if it is one of a
 * few nodes that a hash chooses, so an endpoint gets the same few connections in a cluster of any size. New and failed endpoints come first;
 * failed ones at longer and longer intervals.
 */
export class ActiveProbes {
  readonly #components: ActiveProbesComponents;
  readonly #options: ActiveProbesOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #open = new Set<Cancel>();
  #nodes: readonly string[] = [];
  #hashes = new Uint32Array();
  #isRunning = false;
  #isStale = true;
  #tookTargetsAt = Number.NEGATIVE_INFINITY;
  #turnedAt = Number.NEGATIVE_INFINITY;
  #cancel: Cancel = () => undefined;

  constructor(components: ActiveProbesComponents, options: ActiveProbesOptions) {
    this.#components = components;
    this.#options = options;
  }

  /** Does nothing if it runs. */
  start(): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    this.#schedule();
  }

  /** Closes all connections. `start` begins anew. */
  stop(): void {
    this.#isRunning = false;
    this.#cancel();
    for (const cancel of this.#open) cancel();
    this.#open.clear();
    this.#entries.clear();
    this.#isStale = true;
  }

  /** Called when `targets` or `nodes` may have changed. */
  targetsChanged(): void {
    this.#isStale = true;
    this.#schedule();
  }

  #schedule(): void {
    if (!this.#isRunning) return;
    const { clock } = this.#components;
    let due = this.#isStale ? clock.now() : this.#tookTargetsAt + limits.probeRefreshMilliseconds;
    for (const entry of this.#entries.values()) if (!entry.isOpen && entry.isOurs !== false) due = Math.min(due, entry.dueAt);
    this.#cancel();
    this.#cancel = clock.after(Math.max(due, this.#turnedAt + limits.probeTurnMilliseconds) - clock.now(), () => this.#turn());
  }

  #turn(): void {
    const { clock } = this.#components;
    this.#turnedAt = clock.now();
    if (this.#isStale || this.#turnedAt - this.#tookTargetsAt >= limits.probeRefreshMilliseconds) this.#takeTargets();
    const room = Math.min(limits.probesPerTurn, limits.openProbes - this.#open.size);
    for (const entry of this.#dueFirst(room)) this.#probe(entry);
    this.#schedule();
  }

  /** Returns up to so many entries that are due: new and failed ones first, then those that wait longest. */
  #dueFirst(count: number): Entry[] {
    const urgent: Entry[] = [];
    const ordinary: Entry[] = [];
    for (const entry of this.#entries.values()) {
      if (entry.isOpen || entry.dueAt > this.#turnedAt) continue;
      entry.isOurs ??= this.#isOurs(entry);
      if (!entry.isOurs) continue;
      if (this.#options.isKnown(entry.target, entry.endpoint)) {
        entry.isNew = false;
        entry.failures = 0;
        this.#postpone(entry, limits.probeMilliseconds);
      } else (entry.isNew || entry.failures > 0 ? urgent : ordinary).push(entry);
    }
    const inOrder = (entries: Entry[]): Entry[] => entries.toSorted((a, b) => a.dueAt - b.dueAt);
    return [...inOrder(urgent), ...inOrder(ordinary)].slice(0, Math.max(0, count));
  }

  #probe(entry: Entry): void {
    const { endpoint, target } = entry;
    entry.isOpen = true;
    entry.isNew = false;
    let cancel: Cancel = () => undefined;
    let isClosed = false;
    cancel = this.#components.probe(
      { address: formatAddress(target.address), port: target.port },
      {
        onOutcome: (outcome) => {
          entry.failures = outcome === 'answered' ? 0 : entry.failures + (outcome === undefined ? 0 : 1);
          const delay = limits.probeRetryMilliseconds * 2 ** (entry.failures - 1);
          this.#postpone(entry, entry.failures === 0 ? limits.probeMilliseconds : Math.min(limits.probeRetryMaximumMilliseconds, delay));
          // The endpoint may be gone, or its port may be another one's.
          if (outcome !== undefined && this.#isRunning && this.#entries.get(endpoint) === entry)
            this.#options.onOutcome({ endpoint, outcome, own: true });
        },
        onClosed: () => {
          isClosed = true;
          entry.isOpen = false;
          if (this.#open.delete(cancel)) this.#schedule();
        },
      },
    );
    if (!isClosed) this.#open.add(cancel);
  }

  /** Varies the delay by up to a quarter, so that nodes do not probe an endpoint at the same time. */
  #postpone(entry: Entry, milliseconds: number): void {
    const { clock, random } = this.#components;
    entry.dueAt = clock.now() + milliseconds * (0.75 + 0.25 * random());
  }

  #takeTargets(): void {
    this.#isStale = false;
    this.#tookTargetsAt = this.#turnedAt;
    const found = new Set<string>();
    for (const target of this.#options.targets()) {
      if (found.size >= limits.probedEndpoints) break;
      const endpoint = endpointText(target);
      found.add(endpoint);
      if (this.#entries.get(endpoint)?.target.local === target.local) continue;
      const dueAt = this.#turnedAt + limits.probeTurnMilliseconds * this.#components.random();
      this.#entries.set(endpoint, { endpoint, target, dueAt, failures: 0, isNew: true, isOpen: false });
    }
    for (const endpoint of this.#entries.keys()) if (!found.has(endpoint)) this.#entries.delete(endpoint);
    const nodes = [...new Set([...this.#options.nodes(), this.#options.node])].toSorted();
    if (nodes.length === this.#nodes.length && nodes.every((name, at) => name === this.#nodes[at])) return;
    this.#nodes = nodes;
    this.#hashes = Uint32Array.from(nodes, (name) => textHash(name, hashBasis));
    for (const entry of this.#entries.values()) delete entry.isOurs;
  }

  /** Rendezvous hashing: the nodes with the highest scores for the endpoint probe it, so few endpoints move when a node comes or goes. */
  #isOurs({ endpoint, target }: Entry): boolean {
    if (target.local || this.#nodes.length <= limits.probingNodes) return true;
    const ofEndpoint = textHash(endpoint, hashBasis);
    const own = mixBits(textHash(this.#options.node, hashBasis) ^ ofEndpoint);
    let higher = 0;
    for (const hash of this.#hashes) {
      if (mixBits(hash ^ ofEndpoint) > own && ++higher >= limits.probingNodes) return false;
    }
    return true;
  }
}

const hashBasis = 0x811c_9dc5;

function endpointText({ address, port }: ProbeTarget): string {
  return address.family === 6 ? `[${formatAddress(address)}]:${port}` : `${formatAddress(address)}:${port}`;
}
