import type { Dataplane } from '../../dataplane/dataplane.ts';
import {
  addressFrontend,
  type Tally,
  type TalliedConnections,
  type TalliedDestination,
  type TallyConnections,
} from '../../dataplane/conntrack/connection-tally.ts';
import { defined } from '../../lang/defined.ts';
import type { LiveEndpointConnections, Page } from '../../live/contract.ts';
import { LiveQueryError, pageOf, type LiveQuery } from '../../live/query.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { formatAddress } from '../../net/address.ts';
import { frontendKey, type Frontend } from '../../net/frontend.ts';
import { sleep, type Clock } from '../../system/clock.ts';
import type { Host } from '../../system/host.ts';
import { SerialQueue } from '../../lang/serial-queue.ts';
import { limits } from '../limits.ts';
import { endText } from './check/targets.ts';

export interface EndpointConnectionsComponents {
  /** Absent: connections cannot be counted here. */
  readonly tallyConnections?: TallyConnections;
  readonly dataplane: Pick<Dataplane, 'frontend'>;
  readonly host: Pick<Host, 'interfaces'>;
  readonly clock: Clock;
}

interface Place {
  readonly snapshot: () => Snapshot;
  /** The frontends of a Service that this node forwards, as planned. */
  readonly frontendsOf: (service: ServiceKey) => readonly Frontend[];
}

interface Counted {
  readonly service: string | undefined;
  readonly at: number;
  readonly items: readonly LiveEndpointConnections[];
}

/**
 * Counts the connections of Services by endpoint when it is asked. Counting walks the kernel's table, and whoever reaches the metrics port may
 * ask, so counts are made one at a time, with pauses in proportion to their cost, and each is used again for a second.
 */
export class EndpointConnections {
  readonly #components: EndpointConnectionsComponents;
  readonly #place: Place;
  readonly #queue = new SerialQueue();
  #last: Counted | undefined;
  /** The time of the clock before which the next count does not begin. */
  #due = Number.NEGATIVE_INFINITY;

  constructor(components: EndpointConnectionsComponents, place: Place) {
    this.#components = components;
    this.#place = place;
  }

  /** Rejects with LiveQueryError for an unknown Service, and when the kernel does not tell. */
  async list(query: LiveQuery): Promise<Pick<Page<LiveEndpointConnections>, 'items' | 'next'>> {
    const service = query.text('service');
    if (service !== undefined && !this.#place.snapshot().services.has(service as ServiceKey))
      throw new LiveQueryError(`the agent knows no Service ${service.slice(0, 127)}`, 'write service=NAMESPACE/NAME');
    const items = await this.#queue.run(() => this.#counted(service as ServiceKey | undefined));
    return pageOf(items, keyOf, query);
  }

  async #counted(service: ServiceKey | undefined): Promise<readonly LiveEndpointConnections[]> {
    const { clock } = this.#components;
    const known = this.#last;
    if (known?.service === service && known !== undefined && clock.now() - known.at < limits.tallyAge) return known.items;
    const wait = Math.min(this.#due - clock.now(), limits.tallyLongestPause);
    if (wait > 0) await sleep(clock, wait);
    const began = clock.now();
    const items = await this.#count(service);
    const ended = clock.now();
    this.#due = ended + limits.tallyPauseFactor * (ended - began);
    this.#last = { service, at: ended, items };
    return items;
  }

  async #count(service: ServiceKey | undefined): Promise<readonly LiveEndpointConnections[]> {
    const { tallyConnections } = this.#components;
    const own = new Set(this.#components.host.interfaces().map(({ address }) => address));
    const frontends = service === undefined ? undefined : this.#place.frontendsOf(service).map(({ match }) => match);
    const tally = await (tallyConnections?.(frontends, (destination) => this.#frontendOf(destination, own)) ?? 'it has no netlink');
    if (typeof tally === 'string')
      throw new LiveQueryError(
        `the kernel does not list its connections: ${tally}`,
        'the agent needs CAP_NET_ADMIN and the module nf_conntrack_netlink',
      );
    return this.#summed(tally, service);
  }

  /** Names the frontend of Herald that a destination is, else undefined. */
  #frontendOf(destination: TalliedDestination, own: ReadonlySet<string>): string | undefined {
    const { dataplane } = this.#components;
    const atAddress = addressFrontend(destination);
    if (dataplane.frontend(atAddress) !== undefined) return atAddress;
    const { address, protocol, port } = destination;
    if (!own.has(formatAddress(address))) return undefined;
    const atNode = frontendKey({ kind: 'nodePort', family: address.family, protocol, port });
    return dataplane.frontend(atNode) === undefined ? undefined : atNode;
  }

  /** Adds up the connections to all addresses and the NodePort of one port of a Service, sorted by `keyOf`. */
  #summed({ connections, isWhole }: Tally, wanted: ServiceKey | undefined): readonly LiveEndpointConnections[] {
    const sums = new Map<string, LiveEndpointConnections>();
    for (const one of connections) {
      const found = this.#portOf(one);
      if (found === undefined || (wanted !== undefined && found.service !== wanted)) continue;
      const { protocol, endpoint, endpointPort, active, inactive, packetsIn, packetsOut } = one;
      const item: LiveEndpointConnections = { ...found, protocol, endpoint: endText(endpoint, endpointPort), active, inactive };
      const before = sums.get(keyOf(item));
      const [all, from] = [packetsIn + (before?.packets?.in ?? 0), packetsOut + (before?.packets?.out ?? 0)];
      sums.set(keyOf(item), {
        ...item,
        active: active + (before?.active ?? 0),
        inactive: inactive + (before?.inactive ?? 0),
        // A connection has a packet, so none means that the kernel does not count them.
        ...defined({ packets: all === 0 ? undefined : { in: all, out: from }, atLeast: isWhole ? undefined : (true as const) }),
      });
    }
    return [...sums].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, item]) => item);
  }

  #portOf({ frontend: key }: TalliedConnections): Pick<LiveEndpointConnections, 'service' | 'port'> | undefined {
    const owned = this.#components.dataplane.frontend(key);
    if (owned === undefined) return undefined;
    const { service, frontend } = owned;
    const { kind, port, protocol } = frontend.match;
    if (kind === 'address') return { service, port };
    const ports = this.#place.snapshot().services.get(service as ServiceKey)?.ports ?? [];
    const found = ports.find((one) => one.nodePort === port && one.protocol === protocol);
    return found === undefined ? undefined : { service, port: found.port };
  }
}

const keyOf = ({ service, protocol, port, endpoint }: LiveEndpointConnections): string => `${service} ${protocol} ${port} ${endpoint}`;
