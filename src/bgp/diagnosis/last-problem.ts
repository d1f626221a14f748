import { formatAddress, type Address } from '../../net/address.ts';
import type { Clock } from '../../system/clock.ts';
import type { ResolvedOptions } from '../options/peer-options.ts';
import { evidenceOf } from './evidence.ts';
import { Outage, type OutageStatus } from './outage.ts';
import { describeProblem, newDrops, withoutNumbers, type Problem, type ProblemContext } from './problem.ts';
import type { KernelDrops, Transport } from '../transport/transport.ts';

interface ProblemFacts {
  readonly options: ResolvedOptions;
  readonly address: Address | undefined;
  /** The AS number in the peer's OPEN, if there was one. */
  readonly saidAsn: number | undefined;
}

/** Why a session is down: the latest problem as a value, the first cause, and both in words. */
export class LastProblem {
  last: Problem | undefined;
  /** The first cause and the latest symptom. The symptom mentions what the kernel has dropped since the dial. */
  text: string | undefined;
  readonly #transport: Transport;
  readonly #clock: Clock;
  readonly #outage = new Outage();
  /** The session was established with the present options. */
  #wasEstablished = false;
  /** The counters of the kernel when the connection was dialed. */
  #drops: KernelDrops | undefined;
  /** The latest symptom without counts, which differ each time. */
  #textWithoutCounts: string | undefined;

  constructor({ transport, clock }: { readonly transport: Transport; readonly clock: Clock }) {
    this.#transport = transport;
    this.#clock = clock;
  }

  /** The first cause and the latest symptom. Undefined: nothing went wrong since the session was established or its options changed. */
  get outage(): OutageStatus | undefined {
    const status = this.#outage.status;
    return status === undefined ? undefined : { ...status, wasEstablished: this.#wasEstablished };
  }

  /** Reads the drop counters at the start of a dial: later drops may explain why it fails. */
  dialing(): void {
    this.#drops = this.#transport.kernelDrops();
  }

  /** Records a problem. Returns its own words, and whether they differ from those of the last one. */
  record(problem: Problem, facts: ProblemFacts): { readonly text: string; readonly changed: boolean } {
    const before = this.#textWithoutCounts;
    const context = this.#contextOf(facts);
    const text = describeProblem(problem, context);
    const stable = describeProblem(problem, { ...context, drops: withoutNumbers(context.drops) });
    this.last = problem;
    this.#textWithoutCounts = stable;
    this.#outage.record(evidenceOf(problem, context, facts.saidAsn), stable, this.#clock.date());
    this.text = withFirstCause(text, this.outage);
    return { text, changed: before !== stable };
  }

  /** The session is established. `text` stays: it tells why the session was down. */
  established(): void {
    this.#wasEstablished = true;
    this.#outage.end();
  }

  /** The session gets other options, so that earlier problems may be repaired. */
  optionsChanged(): void {
    this.#wasEstablished = false;
    this.#outage.end();
  }

  #contextOf({ options, address }: ProblemFacts): ProblemContext {
    const { interface: networkInterface, port, password, tcpAo, localAsn, ttlSecurityHops } = options;
    return {
      target: `${address === undefined ? `the peer on ${networkInterface}` : formatAddress(address)} port ${port}`,
      hasPassword: password !== undefined,
      hasTcpAo: tcpAo !== undefined,
      localAsn,
      ttlSecurityHops,
      wasEstablished: this.#wasEstablished,
      drops: newDrops(this.#drops, this.#transport.kernelDrops()),
    };
  }
}

function withFirstCause(text: string, outage: OutageStatus | undefined): string {
  if (outage?.latest === undefined) return text;
  return `${outage.text} (at ${outage.since.toISOString()}); since then: ${text}`;
}
