import { kernelAnswer, kernelAnswerPaths, mayProxy, type KernelAnswer } from '../../decisions/l2/kernel-answers.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import type { NodeLink, ServiceDifference } from '../../model/objects/node-state.ts';
import { reason } from '../../model/reasons.ts';
import { parseAddressLeniently, type Address } from '../../net/address.ts';
import type { HostLink, NeighborProxy } from '../../net/host-link.ts';
import { prefixContains } from '../../net/prefix.ts';
import type { Cancel } from '../../system/clock.ts';
import type { Host } from '../../system/host.ts';
import { readSettings, type FindHostPaths } from '../host-readings.ts';
import { limits } from '../limits.ts';
import type { Surroundings } from '../../system/random.ts';

export interface KernelAnswersComponents extends Surroundings {
  readonly host: Pick<Host, 'readSetting'>;
  /** Absent: this host has no links that can be read, so nothing is checked. */
  readonly hostLinks?: () => Promise<readonly HostLink[]>;
  readonly neighborProxies?: () => Promise<readonly NeighborProxy[]>;
  readonly hostPaths?: FindHostPaths;
}

interface KernelAnswersOptions {
  readonly node: string;
  /** The links of the node. Undefined: there is no L2Advertisement. */
  readonly links: () => readonly NodeLink[] | undefined;
  /** Every address that some node announces by ARP or NDP, also those for which this node is no candidate. */
  readonly addresses: () => readonly string[];
  /** The interfaces on which this node is a candidate for the address. */
  readonly interfacesOf: (address: string) => readonly string[];
  /** All interfaces on which this node is a candidate. */
  readonly interfaces: () => readonly string[];
  /** Called when `interfaces` has changed: the kernel needs other settings there. */
  readonly onInterfacesChanged: () => void;
  readonly servicesAt: (address: string) => readonly ServiceKey[];
  readonly onStatusChanged: () => void;
}

/** Checks whether the kernel itself would answer ARP or NDP for an address: two nodes then answer, also while an agent hangs. */
export class KernelAnswersCheck {
  readonly #components: KernelAnswersComponents;
  readonly #options: KernelAnswersOptions;
  #found: ReadonlyMap<string, KernelAnswer> = new Map();
  #interfaces = '';
  #cancel: Cancel | undefined;
  #stopped = false;

  constructor(components: KernelAnswersComponents, options: KernelAnswersOptions) {
    this.#components = components;
    this.#options = options;
  }

  stop(): void {
    this.#stopped = true;
    this.#cancel?.();
  }

  /** Returns the Services with an address for which the kernel of this node answers. */
  differences(): ServiceDifference[] {
    const { node, servicesAt } = this.#options;
    return [...this.#found].flatMap(([address, { because, remedy }]) =>
      servicesAt(address).map((service) => ({
        service,
        aspect: 'Announced' as const,
        reason: reason('L2KernelAnswers', { node, address, because, remedy }),
      })),
    );
  }

  /** Checks all addresses now, and again at intervals while addresses are answered on links. Called when the links of the node have changed. */
  async check(): Promise<void> {
    const { clock, log } = this.#components;
    this.#cancel?.();
    const interfaces = this.#options.interfaces().join(' ');
    if (interfaces !== this.#interfaces) this.#options.onInterfacesChanged();
    this.#interfaces = interfaces;
    try {
      const found = this.#options.links() === undefined ? new Map<string, KernelAnswer>() : await this.#find();
      if (JSON.stringify([...found]) !== JSON.stringify([...this.#found])) {
        this.#found = found;
        log.warn({ addresses: found.size, first: [...found.values()][0]?.because }, 'the addresses for which the kernel answers changed');
        this.#options.onStatusChanged();
      }
    } catch (error) {
      // The result of the last successful check stays valid.
      log.debug({ error }, 'it cannot be found out whether the kernel answers');
    }
    // Another check may have ended meanwhile.
    this.#cancel?.();
    if (!this.#stopped && this.#options.links() !== undefined)
      this.#cancel = clock.after(limits.linkCheckMilliseconds, () => void this.check());
  }

  async #find(): Promise<ReadonlyMap<string, KernelAnswer>> {
    const { host, hostLinks, neighborProxies } = this.#components;
    if (hostLinks === undefined) return new Map();
    const targets = this.#targets();
    const [links, proxies] = await Promise.all([hostLinks(), neighborProxies?.() ?? []]);
    const values = await readSettings(host, kernelAnswerPaths([...new Set(targets.flatMap(({ interfaces }) => interfaces))]));
    const read = (path: string): string | undefined => values.get(path);
    const routed = targets.filter(
      ({ address, interfaces }) => address.family === 4 && interfaces.some((name) => mayProxy(name, { proxies, read })),
    );
    const paths = await this.#outgoing(routed.map(({ address }) => address));
    const found = new Map<string, KernelAnswer>();
    for (const { text, address, interfaces } of targets) {
      const facts = { links, proxies, read, outgoing: () => paths.get(address) };
      const answer = interfaces.map((name) => kernelAnswer(address, name, facts)).find((one) => one !== undefined);
      if (answer !== undefined) found.set(text, answer);
    }
    return found;
  }

  /** The addresses with the interfaces by which clients may ask for them: where this node is a candidate, else where it is on their network. */
  #targets(): { readonly text: string; readonly address: Address; readonly interfaces: readonly string[] }[] {
    const { addresses, interfacesOf, links } = this.#options;
    return addresses().flatMap((text) => {
      const parsed = parseAddressLeniently(text);
      if (!parsed.ok) return [];
      const address = parsed.value;
      const own = interfacesOf(text);
      const interfaces =
        own.length > 0
          ? own
          : (links() ?? []).filter(({ networks }) => networks.some((one) => prefixContains(one, address))).map(({ name }) => name);
      return [{ text, address, interfaces }];
    });
  }

  async #outgoing(addresses: readonly Address[]): Promise<ReadonlyMap<Address, string>> {
    const found = addresses.length === 0 ? [] : ((await this.#components.hostPaths?.(addresses)) ?? []);
    return new Map(addresses.flatMap((address, index) => (found[index] === undefined ? [] : [[address, found[index].interface] as const])));
  }
}
