import { defined } from '../../../lang/defined.ts';
import type { CheckLine, NodeProbe, NodeUnprobed } from '../../../live/contract.ts';
import type { Service } from '../../../model/objects/service.ts';
import type { Snapshot } from '../../../model/store/snapshot.ts';
import { addressBytes, addressFromBytes, formatAddress, type Address } from '../../../net/address.ts';
import { sleep, type Clock } from '../../../system/clock.ts';
import type { PacketResult } from '../../../system/probe/echo.ts';
import type { IcmpError } from '../../../system/probe/error-queue.ts';
import type { ProbeAddress, Prober } from '../../../system/probe/prober.ts';
import type { ProbeResult } from '../../../system/probe/result.ts';
import type { FindHostPaths } from '../../host-readings.ts';
import { limits } from '../../limits.ts';
import { checkTargets, endText, portText, type CheckTarget } from './targets.ts';

export interface ServiceCheckComponents {
  readonly snapshot: () => Snapshot;
  readonly node: string;
  readonly prober: Prober;
  readonly clock: Clock;
  /** How the host sends packets to addresses. Absent: packet sizes are not probed. */
  readonly hostPaths?: FindHostPaths | undefined;
}

/**
 * Opens connections from this node to the endpoints and addresses of one Service, and sends large packets to the endpoints. It probes nothing
 * that the caller names, only what the agent's own snapshot has. It writes nothing.
 */
export class ServiceCheck {
  readonly #components: ServiceCheckComponents;
  readonly #signal: AbortSignal;
  #followUps = 0;
  #probes = 0;

  constructor(components: ServiceCheckComponents, signal: AbortSignal) {
    this.#components = components;
    this.#signal = signal;
  }

  /** Yields results as they are known. Throws the signal's reason when it aborts. */
  async *run(service: Service): AsyncGenerator<CheckLine> {
    const { targets, unprobed } = checkTargets(this.#components.snapshot(), service, this.#components.node);
    yield* unprobed;
    const sizes = await this.#sizesOf(targets);
    const work = [
      ...targets.map((target) => () => this.#probe(target)),
      ...sizes.map(
        ({ address, size, on }) =>
          () =>
            this.#probeSize(address, size, on),
      ),
    ];
    if (work.length > limits.checkProbes)
      yield {
        type: 'unprobed',
        what: `${work.length - limits.checkProbes} more`,
        why: `one check has at most ${limits.checkProbes} probes`,
      };
    yield* this.#inParallel(work.slice(0, limits.checkProbes), limits.checkAtOnce);
    yield { type: 'end', probes: this.#probes };
  }

  async #probe(target: CheckTarget): Promise<NodeProbe | NodeUnprobed> {
    const { what, protocol, address, port, on } = target;
    const outcome = await this.#attempt(target);
    if (outcome === undefined)
      return { type: 'unprobed', what: portText(address, port, protocol), why: 'this machine has no binary of koffi, which SCTP needs' };
    if (outcome.result === 'notSent') return { type: 'unprobed', what: portText(address, port, protocol), why: whyNotSent(outcome.error) };
    this.#probes++;
    const more = await this.#followUp(target, outcome);
    const { result, milliseconds } = outcome;
    const error = outcome.result === 'unreachable' ? outcome.error : undefined;
    return {
      type: 'probe',
      what,
      protocol,
      to: endText(address, port),
      ...defined({ on }),
      result,
      milliseconds,
      ...defined({ error }),
      ...more,
    };
  }

  async #attempt({ protocol, address, port }: CheckTarget): Promise<ProbeResult | undefined> {
    const { prober } = this.#components;
    const to = probeAddress(address);
    switch (protocol) {
      case 'TCP':
        return prober.tcp(to, port, limits.checkMilliseconds, this.#signal);
      case 'UDP':
        return prober.udp(to, port, limits.checkMilliseconds, this.#signal);
      case 'SCTP':
        return prober.kernel?.connect('SCTP', to, port, limits.checkMilliseconds, this.#signal);
    }
  }

  /** Finds how far packets to a silent endpoint get, or who refused by ICMP. */
  async #followUp({ what, protocol, address, port }: CheckTarget, { result }: ProbeResult): Promise<Pick<NodeProbe, 'by' | 'hops'>> {
    const { kernel } = this.#components.prober;
    if (kernel === undefined || protocol !== 'TCP' || result === 'answered' || this.#followUps >= limits.checkFollowUps) return {};
    this.#followUps++;
    const to = probeAddress(address);
    if (result !== 'silent') {
      const { icmp } = await kernel.connect('TCP', to, port, limits.checkMilliseconds, this.#signal);
      return defined({ by: senderOf(icmp) });
    }
    // The rules may give each packet for an address of the Service another endpoint.
    if (what === 'address') return {};
    const bounds = { most: limits.checkHops, timeout: limits.checkHopMilliseconds };
    const hops = await kernel.hops(to, port, bounds, this.#signal);
    return { hops: hops.map(({ ttl, from }) => ({ ttl, from: formatAddress(addressFromBytes(from)) })) };
  }

  /** Returns the endpoint addresses with the size of the largest packet that the interfaces of this node, and of a pod on it, take. */
  async #sizesOf(targets: readonly CheckTarget[]): Promise<{ address: Address; size: number; on: string | undefined }[]> {
    const { hostPaths, prober } = this.#components;
    if (hostPaths === undefined || prober.kernel === undefined) return [];
    const endpoints = targets.filter(({ what }) => what === 'endpoint');
    const one = new Map(endpoints.map((target) => [formatAddress(target.address), target])).values().toArray();
    // An endpoint without a route is found by its connections.
    const paths = await hostPaths(one.map(({ address }) => address)).catch(() => []);
    return one.flatMap(({ address, on }, index) => {
      const path = paths[index];
      if (path === undefined) return [];
      const size = Math.min(path.mtu, path.farMtu ?? path.mtu, limits.checkPacketBytes);
      return [{ address, size, on }];
    });
  }

  async #probeSize(address: Address, size: number, on: string | undefined): Promise<NodeProbe | NodeUnprobed> {
    const bounds = { attempts: limits.checkPackets, timeout: limits.checkPacketMilliseconds };
    const found = await this.#components.prober.kernel?.size(probeAddress(address), size, bounds, this.#signal);
    const to = formatAddress(address);
    if (found === undefined) return { type: 'unprobed', what: `packets to ${to}`, why: 'this machine has no binary of koffi' };
    this.#probes++;
    return { type: 'probe', what: 'size', protocol: 'ICMP', to, ...defined({ on }), ...sizeFacts(found) };
  }

  /**
   * Runs work with at most so many pieces at once, and yields results as they come. Each piece begins in a turn of the event loop of its own,
   * so that the beginning of the others is not measured with it. Throws the first error.
   */
  async *#inParallel<T>(work: readonly (() => Promise<T>)[], atOnce: number): AsyncGenerator<T> {
    const running = new Map<number, Promise<readonly [number, T]>>();
    for (const [index, start] of work.entries()) {
      if (running.size >= atOnce) yield await next(running);
      await sleep(this.#components.clock, 0, this.#signal);
      const result = start().then((value) => [index, value] as const);
      // An abort rejects all of them, and only the first is thrown.
      result.catch(() => undefined);
      running.set(index, result);
    }
    while (running.size > 0) yield await next(running);
  }
}

function sizeFacts(found: PacketResult): Pick<NodeProbe, 'result' | 'size' | 'mtu' | 'by' | 'milliseconds' | 'error'> {
  const { result, size } = found;
  switch (found.result) {
    case 'answered':
      return { result, size, milliseconds: found.milliseconds };
    case 'tooBig':
      return { result, size, ...(found.mtu === 0 ? {} : { mtu: found.mtu }), ...defined({ by: textOf(found.from) }) };
    case 'lost':
      return { result, size };
    case 'unknown':
      return { result, size, ...defined({ error: found.error }) };
  }
}

const probeAddress = (address: Address): ProbeAddress => ({ text: formatAddress(address), octets: addressBytes(address) });
const textOf = (octets: Uint8Array | undefined): string | undefined =>
  octets === undefined ? undefined : formatAddress(addressFromBytes(octets));
const senderOf = (icmp: IcmpError | undefined): string | undefined => textOf(icmp?.from);

function whyNotSent(error: string): string {
  if (error === 'EPROTONOSUPPORT' || error === 'ESOCKTNOSUPPORT') return 'the kernel of this node has no SCTP';
  return `the node sent no packet (${error})`;
}

async function next<T>(running: Map<number, Promise<readonly [number, T]>>): Promise<T> {
  const [index, value] = await Promise.race(running.values());
  running.delete(index);
  return value;
}
