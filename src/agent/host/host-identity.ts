import { currentReport } from '../../model/objects/node-state.ts';
import { reason, reasonText, remedyText, type Reason } from '../../model/reasons.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { formatAddress, parseAddressLeniently } from '../../net/address.ts';
import type { Host } from '../../system/host.ts';
import { limits } from '../limits.ts';
import type { Surroundings } from '../../system/random.ts';

interface HostIdentityComponents extends Surroundings {
  readonly host: Host;
}

interface HostIdentityOptions {
  readonly node: string;
  readonly snapshot: () => Snapshot;
  /** Plans every Service again. */
  readonly requeueAll: () => void;
  readonly onStatusChanged: () => void;
}

/**
 * Checks that this host is the Node that the agent was started for: it has one of the Node's InternalIPs. An agent that was started with
 * another node's name would announce that node's Services without having its pods. An address that was once found counts for the life of
 * the process, because a link that goes down takes its address with it.
 */
export class HostIdentity {
  readonly #components: HostIdentityComponents;
  readonly #options: HostIdentityOptions;
  readonly #confirmed = new Set<string>();
  #refusal: Reason | undefined;
  #problems: readonly Reason[] = [];

  constructor(components: HostIdentityComponents, options: HostIdentityOptions) {
    this.#components = components;
    this.#options = options;
  }

  /** Why the agent announces nothing. Undefined: it runs on the host of its Node, as far as can be told. */
  get refusal(): Reason | undefined {
    return this.#refusal;
  }

  problems(): readonly Reason[] {
    return this.#problems;
  }

  /** Decides from the Node object and the addresses of the host. Called before Services are planned. */
  reconcile(snapshot: Snapshot): void {
    const { node } = this.#options;
    const wanted = snapshot.nodes.get(node)?.internalIPs.map(formatAddress);
    const here = this.#components.host.addresses().map(canonical);
    for (const address of here) if (wanted?.includes(address) === true) this.#confirmed.add(address);
    const before = JSON.stringify([this.#refusal, this.#problems]);
    this.#refusal = undefined;
    this.#problems = [];
    if (wanted === undefined) this.#problems = [reason('NodeUnknown', { node })];
    else if (wanted.length === 0) this.#problems = [reason('NodeWithoutInternalIP', { node })];
    else if (!wanted.some((address) => this.#confirmed.has(address))) {
      const own = here.filter((address) => address !== '127.0.0.1' && address !== '::1' && !address.startsWith('fe80'));
      const details = { node, addresses: wanted.join(', '), host: own.toSorted().slice(0, limits.namedAddresses).join(', ') || 'none' };
      this.#refusal = reason('NodeNotThisHost', details);
    }
    if (JSON.stringify([this.#refusal, this.#problems]) === before) return;
    for (const because of [this.#refusal ?? [], this.#problems].flat())
      this.#components.log.warn({ node, problem: reasonText(because), fix: remedyText(because) }, 'the agent does not match its Node');
    this.#options.onStatusChanged();
  }

  /**
   * Looks again at the host, at intervals. Also asks the kernel about addresses whose interface is down, unless the kernel would let a
   * program bind to any address.
   */
  async check(): Promise<void> {
    const { host } = this.#components;
    if (this.#refusal === undefined && this.#problems.length === 0) return;
    const wanted = this.#options.snapshot().nodes.get(this.#options.node)?.internalIPs.map(formatAddress) ?? [];
    for (const address of wanted) {
      const family = address.includes(':') ? 'ipv6' : 'ipv4';
      const isStrict = (await host.readSetting(`net/${family}/ip_nonlocal_bind`)) !== '1';
      if (isStrict && (await host.canBind(address))) this.#confirmed.add(address);
    }
    const refused = this.#refusal !== undefined;
    this.reconcile(this.#options.snapshot());
    if (refused && this.#refusal === undefined) this.#options.requeueAll();
  }

  /**
   * True if this process may write the report of the node. An agent on the wrong host leaves a recent report of another process alone: it
   * is the right agent's. `writer` is the name of this process in its reports.
   */
  mayReport(writer: string): boolean {
    if (this.#refusal === undefined) return true;
    const { nodeStates } = this.#options.snapshot();
    const there = currentReport(nodeStates, this.#options.node, this.#components.clock.date().getTime());
    return there === undefined || there.writer === writer || there.problem?.code === 'AgentStopped';
  }
}

function canonical(text: string): string {
  const address = parseAddressLeniently(text);
  return address.ok ? formatAddress(address.value) : text;
}
