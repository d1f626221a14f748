import { eligibleLinks } from '../../decisions/l2/eligible-links.ts';
import type { NodeLink, NodeState } from '../../model/objects/node-state.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { formatAddress } from '../../net/address.ts';
import type { HostLink } from '../../net/host-link.ts';
import { formatPrefix } from '../../net/prefix.ts';
import type { Cancel } from '../../system/clock.ts';
import { limits } from '../limits.ts';
import type { Surroundings } from '../../system/random.ts';

export interface NodeLinksComponents extends Surroundings {
  /** Absent: this host has no links that can be read. */
  readonly hostLinks?: () => Promise<readonly HostLink[]>;
  /** Calls the function when a link or an address of this host may have changed, until cancelled. Absent: only time shows it. */
  readonly followLinks?: (changed: () => void) => Cancel;
}

interface NodeLinksOptions {
  readonly node: string;
  readonly snapshot: () => Snapshot;
  /** Called when the links have changed. */
  readonly onChanged: () => void;
}

/** Knows the links on which this node can announce addresses by ARP and NDP, while there is an L2Advertisement. */
export class NodeLinks {
  readonly #components: NodeLinksComponents;
  readonly #options: NodeLinksOptions;
  #links: readonly NodeLink[] | undefined;
  #hostLinks: readonly HostLink[] = [];
  #text = '';
  #cancel: Cancel | undefined;
  #reading: Promise<void> | undefined;
  #isStale = false;
  #unfollow: Cancel | undefined;
  #stopped = false;

  constructor(components: NodeLinksComponents, options: NodeLinksOptions) {
    this.#components = components;
    this.#options = options;
  }

  /** The links. Undefined: there is no L2Advertisement, or they were not read yet. */
  get links(): readonly NodeLink[] | undefined {
    return this.#links;
  }

  /** All interfaces of this host, as they were read last. */
  get hostLinks(): readonly HostLink[] {
    return this.#hostLinks;
  }

  /** Returns the part of the node's report. */
  reportPart(): Pick<NodeState, 'links'> {
    return this.#links === undefined ? {} : { links: this.#links.slice(0, limits.nodeLinks) };
  }

  /** Begins or ends reading, as there are L2Advertisements or none. Returns the first reading, for which the plans wait. */
  reconcile(): Promise<void> | undefined {
    if (this.#options.snapshot().l2Advertisements.size === 0) {
      this.#end();
      this.#links = undefined;
      this.#text = '';
      return undefined;
    }
    if (this.#cancel !== undefined) return undefined;
    this.#unfollow ??= this.#components.followLinks?.(() => void this.check());
    return this.check();
  }

  /** Reads the links now, and again at intervals. A call during a reading has the links read once more. */
  check(): Promise<void> {
    this.#isStale = true;
    this.#reading ??= this.#readWhileStale().finally(() => (this.#reading = undefined));
    return this.#reading;
  }

  stop(): void {
    this.#stopped = true;
    this.#end();
  }

  #end(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    this.#unfollow?.();
    this.#unfollow = undefined;
  }

  async #readWhileStale(): Promise<void> {
    while (this.#isStale) {
      this.#isStale = false;
      await this.#read();
    }
  }

  async #read(): Promise<void> {
    const { hostLinks, clock, log } = this.#components;
    const { node, snapshot } = this.#options;
    this.#cancel?.();
    try {
      const wanted = new Set([...snapshot().l2Advertisements.values()].flatMap(({ interfaces }) => interfaces));
      this.#hostLinks = (await hostLinks?.()) ?? [];
      const links = eligibleLinks(this.#hostLinks, wanted, snapshot().nodes.get(node)?.internalIPs ?? []);
      const text = links.map(linkText).join('\n');
      if (this.#links === undefined || text !== this.#text) {
        this.#links = links;
        this.#text = text;
        log.info({ links: links.map(({ name }) => name) }, 'links that can carry announcements by ARP and NDP');
        this.#options.onChanged();
      }
    } catch (error) {
      // The last links stay in force.
      log.warn({ error }, 'the links of this host cannot be read');
    }
    if (!this.#stopped) this.#cancel = clock.after(limits.linkCheckMilliseconds, () => void this.check());
  }
}

const linkText = ({ name, linkAddress, networks, addresses }: NodeLink): string =>
  [name, linkAddress, ...networks.map(formatPrefix), ...addresses.map(formatAddress)].join(' ');
