import { reportsLinks, usesLinks } from '../../decisions/l2/link-advertisements.ts';
import { eligibleLinks } from '../../decisions/l2/eligible-links.ts';
import { nodeInterfaces } from '../../decisions/host/node-interfaces.ts';
import { addressesText, type NodeInterface, type NodeLink, type NodeState } from '../../model/objects/node-state.ts';
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
  /** Called when the part of the node's report has changed. */
  readonly onStatusChanged: () => void;
}

/**
 * Knows the addresses of this node's interfaces and, while there is an advertisement, the links on which it can announce addresses by ARP
 * and NDP.
 */
export class NodeLinks {
  readonly #components: NodeLinksComponents;
  readonly #options: NodeLinksOptions;
  #links: readonly NodeLink[] | undefined;
  #hostLinks: readonly HostLink[] = [];
  #text = '';
  #interfaces: readonly NodeInterface[] = [];
  /** Addresses were answered on links at the last `reconcile`. */
  #wasWanted = false;
  #wasReported = false;
  #cancel: Cancel | undefined;
  #reading: Promise<void> | undefined;
  #isStale = false;
  #unfollow: Cancel | undefined;
  #stopped = false;

  constructor(components: NodeLinksComponents, options: NodeLinksOptions) {
    this.#components = components;
    this.#options = options;
  }

  /** The links. Undefined: no address is answered on links, or they were not read yet. */
  get links(): readonly NodeLink[] | undefined {
    return usesLinks(this.#options.snapshot()) ? this.#links : undefined;
  }

  /** All interfaces of this host, as they were read last. */
  get hostLinks(): readonly HostLink[] {
    return this.#hostLinks;
  }

  /** Returns the part of the node's report. */
  reportPart(): Pick<NodeState, 'links' | 'interfaces'> {
    return {
      ...(this.#links === undefined ? {} : { links: this.#links.slice(0, limits.nodeLinks) }),
      ...(this.#interfaces.length === 0 ? {} : { interfaces: this.#interfaces }),
    };
  }

  /** Begins reading. Returns the first reading since addresses are answered on links, for which the plans wait. */
  reconcile(): Promise<void> | undefined {
    const [isWanted, isReported] = [usesLinks(this.#options.snapshot()), reportsLinks(this.#options.snapshot())];
    if (!isReported) {
      this.#links = undefined;
      this.#text = '';
    }
    const begins = this.#cancel === undefined || (isWanted && !this.#wasWanted) || (isReported && !this.#wasReported);
    this.#wasWanted = isWanted;
    this.#wasReported = isReported;
    if (!begins) return undefined;
    this.#unfollow ??= this.#components.followLinks?.(() => void this.check());
    const reading = this.check();
    return isWanted ? reading : undefined;
  }

  /** Reads the links now, and again at intervals. A call during a reading has the links read once more. */
  check(): Promise<void> {
    this.#isStale = true;
    this.#reading ??= this.#readWhileStale().finally(() => (this.#reading = undefined));
    return this.#reading;
  }

  stop(): void {
    this.#stopped = true;
    this.#cancel?.();
    this.#unfollow?.();
  }

  async #readWhileStale(): Promise<void> {
    while (this.#isStale) {
      this.#isStale = false;
      await this.#read();
    }
  }

  async #read(): Promise<void> {
    const { hostLinks, clock, log } = this.#components;
    this.#cancel?.();
    try {
      this.#hostLinks = (await hostLinks?.()) ?? [];
      this.#updateInterfaces();
      if (reportsLinks(this.#options.snapshot())) this.#updateLinks();
    } catch (error) {
      // The last links stay in force.
      log.warn({ error }, 'the links of this host cannot be read');
    }
    const pause = this.#wasWanted ? limits.linkCheckMilliseconds : limits.hostCheckMilliseconds;
    if (!this.#stopped) this.#cancel = clock.after(pause, () => void this.check());
  }

  #updateInterfaces(): void {
    const interfaces = nodeInterfaces(this.#hostLinks)
      .slice(0, limits.nodeInterfaces)
      .map(({ name, addresses }) => ({ name, addresses: addresses.slice(0, limits.interfaceAddresses) }));
    if (addressesText({ interfaces }) === addressesText({ interfaces: this.#interfaces })) return;
    this.#interfaces = interfaces;
    this.#options.onStatusChanged();
  }

  #updateLinks(): void {
    const { node, snapshot } = this.#options;
    const wanted = new Set([...snapshot().l2Advertisements.values()].flatMap(({ interfaces }) => interfaces));
    const links = eligibleLinks(this.#hostLinks, wanted, snapshot().nodes.get(node)?.internalIPs ?? []);
    const text = links.map(linkText).join('\n');
    if (this.#links !== undefined && text === this.#text) return;
    this.#links = links;
    this.#text = text;
    this.#components.log.info({ links: links.map(({ name }) => name) }, 'links that can carry announcements by ARP and NDP');
    this.#options.onStatusChanged();
    if (usesLinks(snapshot())) this.#options.onChanged();
  }
}

const linkText = ({ name, linkAddress, networks, addresses }: NodeLink): string =>
  [name, linkAddress, ...networks.map(formatPrefix), ...addresses.map(formatAddress)].join(' ');
