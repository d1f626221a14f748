import { formatAddress, type Address } from '../../net/address.ts';
import type { ResolvedOptions } from '../options/peer-options.ts';
import { describeProblem, newDrops, withoutNumbers, type Problem, type ProblemContext } from './problem.ts';
import type { KernelDrops, Transport } from '../transport/transport.ts';

/** The latest problem of a session, as a value and in words. The words mention what the kernel has dropped since the dial. */
export class LastProblem {
  last: Problem | undefined;
  text: string | undefined;
  readonly #transport: Transport;
  /** The counters of the kernel when the connection was dialed. */
  #drops: KernelDrops | undefined;
  /** The text without counts, which differ each time. */
  #textWithoutCounts: string | undefined;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Reads the drop counters at the start of a dial: later drops may explain why it fails. */
  dialing(): void {
    this.#drops = this.#transport.kernelDrops();
  }

  /** Records a problem. Returns its text, and whether it differs from the last one. */
  record(problem: Problem, options: ResolvedOptions, address: Address | undefined): { readonly text: string; readonly changed: boolean } {
    const before = this.#textWithoutCounts;
    const context = this.#contextOf(options, address);
    const text = describeProblem(problem, context);
    this.last = problem;
    this.text = text;
    this.#textWithoutCounts = describeProblem(problem, { ...context, drops: withoutNumbers(context.drops) });
    return { text, changed: before !== this.#textWithoutCounts };
  }

  #contextOf(options: ResolvedOptions, address: Address | undefined): ProblemContext {
    const { interface: networkInterface, port, password, localAsn, ttlSecurityHops } = options;
    return {
      target: `${address === undefined ? `the peer on ${networkInterface}` : formatAddress(address)} port ${port}`,
      hasPassword: password !== undefined,
      localAsn,
      ttlSecurityHops,
      drops: newDrops(this.#drops, this.#transport.kernelDrops()),
    };
  }
}
