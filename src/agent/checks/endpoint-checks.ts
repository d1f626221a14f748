import type { CheckMode } from '../../model/objects/node-state.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import type { Address } from '../../net/address.ts';
import { endpointsPlacedOn, judgePlace, type PlacedEndpoint } from '../../decisions/forwarding/misplaced-endpoints.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import type { DroppingInterface, LostAnswers, NoWay, RouteAnswer } from '../../net/endpoint-way.ts';
import type { ObservedConnection } from '../../net/observed-connection.ts';
import type { ProbeTcp } from '../../system/http/tcp-probe.ts';
import type { RandomSurroundings } from '../../system/random.ts';
import { ActiveProbes, type ProbeObservation, type ProbeTarget } from './active-probes.ts';
import { chosenEndpoints, isLimitedToNode, type CheckedFrontends } from './checked-frontends.ts';
import type { ConnectionEvidence } from './connection-evidence.ts';
import { ClientWays } from './client-ways.ts';
import { EndpointWays, type ReadWays } from './endpoint-ways.ts';

export interface EndpointChecksComponents extends RandomSurroundings {
  /** Absent: routes and neighbours of endpoints are not looked at. */
  readonly ways?: ReadWays;
  /** Absent: mode `active` opens no connections. */
  readonly probe?: ProbeTcp;
}

interface EndpointChecksOptions {
  readonly node: string;
  readonly snapshot: () => Snapshot;
  readonly frontends: CheckedFrontends;
  readonly evidence: Pick<ConnectionEvidence, 'knowsClients' | 'unfinished' | 'wayOf'>;
  /** Finds interfaces by which packets of clients for endpoints certainly do not leave. Absent: there are none. */
  readonly dropping?: () => Promise<readonly DroppingInterface[]>;
  /** True for an address of this host. Absent: they are not known. */
  readonly isOwn?: (address: Address) => boolean;
  /** Finds the interfaces by which packets of clients come. Absent: they are not known. */
  readonly uplinks?: () => Promise<Iterable<string>>;
  readonly onLostAnswers: (lost: ReadonlyMap<string, LostAnswers>) => void;
  readonly onWays: (ways: ReadonlyMap<string, NoWay>) => void;
  /** Takes the outcome of a connection of our own, once for each frontend that leads to the endpoint. */
  readonly onOwn: (connections: readonly ObservedConnection[]) => void;
}

/** Looks at endpoints where connections of clients tell nothing: at the ways to them, and in mode `active` by connections of its own. */
export class EndpointChecks {
  readonly #options: EndpointChecksOptions;
  readonly #components: EndpointChecksComponents;
  readonly #ways: EndpointWays;
  readonly #clients: ClientWays;
  readonly #probes: ActiveProbes | undefined;
  #probed = 0;

  constructor(components: EndpointChecksComponents, options: EndpointChecksOptions) {
    this.#components = components;
    this.#options = options;
    const { node, snapshot, dropping, evidence } = options;
    this.#ways = new EndpointWays(components, {
      endpoints: () => this.#addresses(),
      ...(dropping === undefined ? {} : { dropping }),
      places: () => this.#places(),
      onChanged: () => options.onWays(this.#ways.ways),
    });
    this.#clients = new ClientWays(components, {
      questions: () => evidence.unfinished(components.clock.now()),
      uplinks: options.uplinks ?? (() => Promise.resolve([])),
      onChanged: () => options.onLostAnswers(this.#clients.lost),
    });
    const { probe } = components;
    if (probe === undefined) return;
    this.#probes = new ActiveProbes(
      { ...components, probe },
      {
        node,
        nodes: () => snapshot().nodes.keys(),
        targets: () => this.#targets(),
        isKnown: (_, endpoint) => evidence.wayOf(endpoint) !== undefined || evidence.knowsClients(endpoint, components.clock.now()),
        onOutcome: (observation) => this.#onOutcome(observation),
      },
    );
  }

  /** Called after each commit: endpoints, nodes or the mode may have changed. */
  reconcile(mode: CheckMode): void {
    if (mode === 'off') {
      this.#ways.stop();
      this.#clients.stop();
    } else this.#ways.start();
    this.#ways.endpointsChanged();
    if (mode === 'active') this.#probes?.start();
    else this.#probes?.stop();
    this.#probes?.targetsChanged();
  }

  /** The interfaces by which packets for IPv4 endpoints leave, those of most endpoints first. */
  get interfaces(): readonly string[] {
    return this.#ways.interfaces;
  }

  /** Called when `dropping` may have changed. */
  droppingChanged(): void {
    this.#ways.droppingChanged();
  }

  /** Called when clients were seen that did not complete their connections. */
  clientsChanged(): void {
    this.#clients.clientsChanged();
  }

  stop(): void {
    this.#ways.stop();
    this.#clients.stop();
    this.#probes?.stop();
  }

  *#addresses(): Iterable<Address> {
    for (const { frontend } of this.#options.frontends.all()) for (const { address } of chosenEndpoints(frontend)) yield address;
  }

  /** Only where Services ask for endpoints of this node it matters where an endpoint is. */
  #places(): (address: string, route: Pick<RouteAnswer, 'hop' | 'isSpread'>) => NoWay | undefined {
    const { node, snapshot, frontends, isOwn } = this.#options;
    if (isOwn === undefined) return () => undefined;
    const services = new Set<ServiceKey>();
    for (const { service, frontend } of frontends.all()) if (isLimitedToNode(frontend)) services.add(service);
    const placed = services.size === 0 ? new Map<string, PlacedEndpoint>() : endpointsPlacedOn(snapshot(), services, node);
    return (address, route) => {
      const endpoint = placed.get(address);
      return endpoint === undefined ? undefined : judgePlace(snapshot(), node, endpoint, route, isOwn);
    };
  }

  *#targets(): Iterable<ProbeTarget> {
    for (const { frontend } of this.#options.frontends.all()) {
      if (frontend.match.protocol !== 'TCP') continue;
      const local = new Set(frontend.localBackends);
      for (const backend of chosenEndpoints(frontend)) yield { address: backend.address, port: backend.port, local: local.has(backend) };
    }
  }

  #onOutcome({ endpoint, outcome }: ProbeObservation): void {
    const at = this.#components.clock.now();
    // Each probe is another connection.
    const id = -++this.#probed;
    const found: ObservedConnection[] = [];
    for (const { frontend } of this.#options.frontends.leadingTo(endpoint)) {
      const { match } = frontend;
      const backend = chosenEndpoints(frontend).find((one) => this.#options.frontends.isAt(one, endpoint));
      if (match.kind !== 'address' || match.protocol !== 'TCP' || backend === undefined) continue;
      const { address: destination, protocol, port } = match;
      found.push({ destination, protocol, port, endpoint: backend.address, endpointPort: backend.port, outcome, at, id, own: true });
    }
    if (found.length > 0) this.#options.onOwn(found);
  }
}
