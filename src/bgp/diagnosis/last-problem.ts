import { formatAddress, type Address } from '../../net/address.ts';
import type { ResolvedOptions } from '../options/peer-options.ts';
import { describeProblem, newDrops, withoutNumbers, type Problem, type ProblemContext } from './problem.ts';
import type { KernelDrops, Transport } from '../transport/transport.ts';

/** Why a session is down, or why it was the last time: as a value, and in words with what the kernel has dropped meanwhile. */
export class LastProblem {
  last: Problem | undefined;
  text: string | undefined;
  readonly #transport: Transport;
  /** When the connection was dialed. */
  #drops: KernelDrops | undefined;
  /** The text without the numbers that differ each time. */
  #textWithoutCounts: string | undefined;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** A connection is dialed: what the kernel drops from here on may be the reason why it fails. */
  dialing(): void {
    this.#drops = this.#transport.kernelDrops();
  }

  /** Answers with the words, and whether they say something else than the last time. */
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
