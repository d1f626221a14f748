import type { Dataplane } from '../../dataplane/dataplane.ts';
import { addressesOf } from '../../decisions/direct-return/forwarding-path.ts';
import { wantsDirectReturn } from '../../decisions/direct-return/plan.ts';
import { directReturnPreflight, tunnelNames, type Preflight } from '../../decisions/direct-return/preflight.ts';
import { consistentHashing } from '../../decisions/forwarding/balancing.ts';
import type { DirectReturnMode } from '../../model/kinds/types.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import type { DirectReturnReport } from '../../model/objects/node-state.ts';
import type { Reason } from '../../model/reasons.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { formatAddress, parseAddressLeniently, sameAddress, type Address } from '../../net/address.ts';
import type { Cancel } from '../../system/clock.ts';
import type { HostInterface } from '../../system/host.ts';
import type { HostCheckComponents } from './host-check.ts';
import { limits } from '../limits.ts';

interface DirectReturnCheckComponents extends HostCheckComponents {
  readonly dataplane: Pick<Dataplane, 'probeDirectReturn'>;
}

interface DirectReturnCheckOptions {
  readonly node: string;
  readonly snapshot: () => Snapshot;
  /** `set`: the check corrects kernel settings. `report`: it only reports them. */
  readonly kernelSettings: 'set' | 'report';
  /** Called when the results of `reportPart` or `problems` changed. */
  readonly onStatusChanged: () => void;
}

/** The settings of direct server return that this node must support. */
interface RequestedMode {
  readonly mode: DirectReturnMode;
  readonly addresses: readonly Address[];
}

/**
 * Finds out which kinds of direct server return this node supports, from the moment a Service wants it, and repeats the check. The result
 * goes into the node's report, which all nodes base their decisions on, this one included.
 */
export class DirectReturnCheck {
  readonly #components: DirectReturnCheckComponents;
  readonly #options: DirectReturnCheckOptions;
  readonly #requesting = new Set<ServiceKey>();
  #requested = '';
  #found: Preflight | undefined;
  /** True once the node's support is known, or once no Service wants it. */
  #hasAnswered = false;
  #cancel: Cancel | undefined;
  #checking: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(components: DirectReturnCheckComponents, options: DirectReturnCheckOptions) {
    this.#components = components;
    this.#options = options;
  }

  /**
   * Returns the part of the node's report. Before the first check it repeats the report of the previous process: the rules still exist, and
   * without a report all other nodes would briefly translate packets that our pods expect unchanged, which resets their connections.
   */
  reportPart(): { readonly directReturn?: DirectReturnReport } {
    const { snapshot, node } = this.#options;
    const directReturn = this.#hasAnswered ? this.#found?.report : snapshot().nodeStates.get(node)?.directReturn;
    return directReturn === undefined ? {} : { directReturn };
  }

  problems(): readonly Reason[] {
    return this.#found?.reasons ?? [];
  }

  /** Takes Services that were planned. Checks at once if the requested mode changed. */
  reconcile(planned: Iterable<ServiceKey>): void {
    const { config, services } = this.#options.snapshot();
    for (const key of planned) {
      const service = services.get(key);
      const wants = service !== undefined && wantsDirectReturn(config, service) && consistentHashing(config, service) !== undefined;
      if (wants) this.#requesting.add(key);
      else this.#requesting.delete(key);
    }
    const requested = this.#requestedMode();
    const text = requested === undefined ? '' : `${requested.mode} ${requested.addresses.map(formatAddress).join()}`;
    if (text === this.#requested) {
      // No Service wants direct server return. A report of an earlier process may say otherwise, so this is an answer too.
      if (requested === undefined) this.#answered();
      return;
    }
    this.#requested = text;
    this.#cancel?.();
    this.#checking = this.#checking.then(() => this.#check());
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancel?.();
    await this.#checking;
  }

  #answered(): void {
    if (this.#hasAnswered) return;
    this.#hasAnswered = true;
    this.#options.onStatusChanged();
  }

  async #check(): Promise<void> {
    if (this.#stopped) return;
    const { clock, random, log } = this.#components;
    const before = JSON.stringify(this.#found, bigintText);
    const requested = this.#requestedMode();
    try {
      this.#found = requested === undefined ? undefined : await this.#preflight(requested);
      this.#answered();
    } catch (error) {
      // The result of the last successful check stays valid.
      log.warn({ error }, 'the support of this node for direct server return cannot be determined');
    }
    if (JSON.stringify(this.#found, bigintText) !== before) {
      const { receives, passes } = this.#found?.report ?? { receives: [], passes: [] };
      log.info({ receives, passes, problems: this.problems().map(({ code }) => code) }, 'direct server return');
      this.#options.onStatusChanged();
    }
    if (this.#stopped || requested === undefined) return;
    this.#cancel = clock.after(limits.hostCheckMilliseconds * (0.75 + 0.25 * random()), () => {
      this.#checking = this.#checking.then(() => this.#check());
    });
  }

  /** Undefined: no Service wants direct server return. */
  #requestedMode(): RequestedMode | undefined {
    const snapshot = this.#options.snapshot();
    const { services, directReturnMode: mode } = snapshot.config;
    return this.#requesting.size === 0 || services === 'none' ? undefined : { mode, addresses: addressesOf(snapshot, this.#options.node) };
  }

  async #preflight({ mode, addresses }: RequestedMode): Promise<Preflight> {
    const { host, hostFilters, dataplane } = this.#components;
    const interfaces = host.interfaces();
    const own = [...new Set(interfaces.filter((each) => addresses.some((address) => isOf(each, address))).map(({ name }) => name))];
    const lacks = await dataplane.probeDirectReturn(
      mode === 'auto' || mode === 'l2' ? own : [],
      mode === 'auto' || mode === 'vxlan' ? addresses : [],
    );
    const strict = new Set<string>();
    for (const name of [...own, ...Object.values(tunnelNames)]) if (await this.#isStrict(name)) strict.add(name);
    const mtu = new Map<string, number>();
    for (const name of own) {
      // The IPv6 setting is the one place that tells the MTU of every interface. It is the link's MTU unless it was lowered.
      const octets = Number(await host.readSetting(`net/ipv6/conf/${name}/mtu`));
      if (octets > 0) mtu.set(name, octets);
    }
    return directReturnPreflight(mode, { addresses, interfaces, strict, mtu, filters: await hostFilters(), lacks });
  }

  /** True if strict reverse path filtering drops packets on the interface. Relaxes it first on our own tunnels, where permitted. */
  async #isStrict(name: string): Promise<boolean> {
    const { host } = this.#components;
    const path = `net/ipv4/conf/${name}/rp_filter`;
    const read = async (): Promise<boolean> =>
      Math.max(Number((await host.readSetting('net/ipv4/conf/all/rp_filter')) ?? 0), Number((await host.readSetting(path)) ?? 0)) === 1;
    if ((await host.readSetting(path)) === undefined || !(await read())) return false;
    if (this.#options.kernelSettings !== 'set' || !Object.values(tunnelNames).includes(name)) return true;
    await host.writeSetting(path, '2');
    return read();
  }
}

function isOf({ address: text }: HostInterface, address: Address): boolean {
  const parsed = parseAddressLeniently(text);
  return parsed.ok && sameAddress(parsed.value, address);
}

function bigintText(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value;
}
