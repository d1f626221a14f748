import { kindText, type Flow, type StaleFlows } from './conntrack-cleaner.ts';

/** Tells whether a flow is among many kinds, at the same cost as among one. */
export class StaleIndex {
  /** "UDP 53": most flows are to other ports, and nothing more is done for them. */
  readonly #ports = new Set<string>();
  /** To whether a flow that was answered counts, too. */
  readonly #kinds = new Map<string, boolean>();

  constructor(stale: readonly StaleFlows[]) {
    for (const each of stale) {
      this.#ports.add(`${each.protocol} ${each.port}`);
      const kind = kindText(each);
      this.#kinds.set(kind, this.#kinds.get(kind) === true || each.unreplied !== true);
    }
  }

  has({ protocol, destination, port, replySource, replyPort, replied }: Flow): boolean {
    if (!this.#ports.has(`${protocol} ${port}`)) return false;
    const anyPort = { protocol, port, replySource };
    for (const kind of [{ ...anyPort, destination, replyPort }, { ...anyPort, destination }, { ...anyPort, replyPort }, anyPort]) {
      const answeredToo = this.#kinds.get(kindText(kind));
      if (answeredToo === true || (answeredToo === false && !replied)) return true;
    }
    return false;
  }
}
