import type {
  DirectReturnShortcomings,
  ApplyResult,
  Dataplane,
  DataplaneError,
  ForwardingChanges,
  OwnedFrontend,
  QuarantinedFrontend,
} from '../../../../src/dataplane/dataplane.ts';
import { DesiredFrontends } from '../../../../src/dataplane/nftables/desired-frontends.ts';
import { formatAddress, type Address } from '../../../../src/net/address.ts';
import type { Frontend, NodeForwarding, ServiceForwarding } from '../../../../src/net/frontend.ts';
import { formatPrefix, type Prefix } from '../../../../src/net/prefix.ts';

/**
 * A Dataplane in memory, without a kernel. It keeps the contract of Dataplane and logs its commits: "+192.0.2.1 TCP 80" (also for a changed
 * frontend), "-192.0.2.1 TCP 80", "unreachable 192.0.2.0/24", "node 10.0.0.1".
 */
export class FakeDataplane implements Dataplane {
  readonly desired = new Map<string, ServiceForwarding>();
  readonly kernel = new Map<string, { readonly service: string; readonly frontend: Frontend }>();
  unreachable: readonly string[] = [];
  /** Keys of frontends whose next change fails, as if the kernel refused it. The previous version stays. */
  readonly refused = new Set<string>();
  /** While set, every change rejects with this error. */
  failure: DataplaneError | undefined;
  /** Prefixes whose unreachable route cannot be set, as if the kernel refused it. */
  readonly unreachableRefused = new Set<string>();
  /** While set, `setUnreachable` rejects with this error. */
  unreachableFailure: DataplaneError | undefined;
  /** Every change awaits this first. */
  answer: () => Promise<void> = async () => undefined;
  /** The Services of every `apply` and `replace`. */
  readonly calls: string[][] = [];
  attempts = 0;
  /** Reports a failed repair to the agent. */
  lose: (error: DataplaneError) => void = () => undefined;
  closed = false;
  cleared = false;
  adopted = false;
  readonly #claims = new DesiredFrontends();
  readonly #touched = new Set<string>();
  readonly #quarantined = new Map<string, string>();
  readonly #log: string[];

  constructor(log: string[] = []) {
    this.#log = log;
  }

  replace(node: NodeForwarding, services: ReadonlyMap<string, ServiceForwarding>): Promise<ApplyResult> {
    this.calls.push([...services.keys()]);
    return this.#call(() => {
      this.cleared = false;
      for (const service of this.desired.keys()) if (!services.has(service)) this.#set(service, undefined);
      for (const [service, forwarding] of services) this.#set(service, forwarding);
      this.#logNode(node);
      return this.#commit();
    });
  }

  frontend(key: string): OwnedFrontend | undefined {
    return this.#claims.effectiveFrontend(key);
  }

  setNode(node: NodeForwarding): Promise<ApplyResult> {
    return this.#call(() => {
      this.#logNode(node);
      return this.#commit();
    });
  }

  apply(changes: ForwardingChanges): Promise<ApplyResult> {
    this.calls.push([...changes.keys()]);
    return this.#call(() => {
      for (const [service, forwarding] of changes) this.#set(service, forwarding);
      return this.#commit();
    });
  }

  /** The result of `probeDirectReturn`. `probes` records its arguments, such as "eth0 / 10.0.0.1". */
  lacks: DirectReturnShortcomings = {};
  readonly probes: string[] = [];
  /** Delays the result of `probeDirectReturn`. */
  beforeProbe: () => Promise<void> = () => Promise.resolve();

  async probeDirectReturn(interfaces: readonly string[], tunnels: readonly Address[]): Promise<DirectReturnShortcomings> {
    this.probes.push(`${interfaces.join()} / ${tunnels.map(formatAddress).join()}`);
    await this.beforeProbe();
    return this.lacks;
  }

  clear(): Promise<void> {
    return this.#call(() => {
      if (!this.cleared) this.#log.push('cleared');
      this.cleared = true;
      for (const service of this.desired.keys()) this.#set(service, undefined);
      this.#commit();
    });
  }

  setUnreachable(prefixes: readonly Prefix[]): Promise<ReadonlyMap<string, string>> {
    return this.#call(() => {
      if (this.unreachableFailure !== undefined) throw this.unreachableFailure;
      const texts = prefixes.map(formatPrefix);
      this.unreachable = texts.filter((text) => !this.unreachableRefused.has(text));
      this.#log.push(['unreachable', ...this.unreachable].join(' '));
      return new Map(texts.flatMap((text) => (this.unreachableRefused.has(text) ? [[text, 'no']] : [])));
    });
  }

  onFailure(listener: (error: DataplaneError) => void): void {
    this.lose = listener;
  }

  onRepair(): void {
    // No other program changes these Maps.
  }

  async close(): Promise<void> {
    this.closed = true;
    this.#log.push('data plane closed');
  }

  async cleanup(): Promise<void> {
    this.kernel.clear();
  }

  async #call<T>(work: () => T): Promise<T> {
    this.attempts++;
    await this.answer();
    if (this.failure !== undefined) throw this.failure;
    return work();
  }

  #set(service: string, forwarding: ServiceForwarding | undefined): void {
    if (forwarding === undefined) this.desired.delete(service);
    else this.desired.set(service, forwarding);
    for (const key of this.#claims.setForwarding(service, forwarding)) this.#touched.add(key);
  }

  #logNode({ nodePortAddresses }: NodeForwarding): void {
    this.#log.push(['node', ...nodePortAddresses.map(({ address }) => formatAddress(address))].join(' '));
  }

  #commit(): ApplyResult {
    const keys = new Set([...this.#touched, ...this.#quarantined.keys()]);
    this.#touched.clear();
    for (const key of [...keys].toSorted()) {
      const wanted = this.#claims.effectiveFrontend(key);
      this.#quarantined.delete(key);
      if (wanted === undefined) {
        if (this.kernel.delete(key)) this.#log.push(`-${key}`);
      } else if (this.refused.has(key)) {
        this.#quarantined.set(key, 'no');
      } else {
        this.kernel.set(key, wanted);
        this.#log.push(`+${key}`);
      }
    }
    const quarantined = new Map<string, QuarantinedFrontend>();
    for (const { key, services, owner } of this.#claims.conflicts()) quarantined.set(key, { services, error: 'taken', owner });
    for (const [key, error] of this.#quarantined) {
      const service = this.#claims.effectiveFrontend(key)?.service;
      quarantined.set(key, { services: service === undefined ? [] : [service], error });
    }
    return { quarantined };
  }
}
