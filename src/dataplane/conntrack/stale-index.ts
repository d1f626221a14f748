import { sameAddress } from '../../net/address.ts';
import type { Flow, StaleFlows } from './conntrack-cleaner.ts';

/** Tells whether a flow is among many kinds, at about the same cost as among one. */
export class StaleIndex {
  /** By "UDP 53", then by the address that answers: most flows are to other ports, and nothing more is done for them. */
  readonly #kinds = new Map<string, Map<bigint, StaleFlows[]>>();

  constructor(stale: readonly StaleFlows[]) {
    for (const kind of stale) {
      const port = `${kind.protocol} ${kind.port}`;
      const byAddress = this.#kinds.get(port) ?? new Map<bigint, StaleFlows[]>();
      this.#kinds.set(port, byAddress);
      const kinds = byAddress.get(kind.replySource.value);
      if (kinds === undefined) byAddress.set(kind.replySource.value, [kind]);
      else kinds.push(kind);
    }
  }

  has(flow: Flow): boolean {
    const kinds = this.#kinds.get(`${flow.protocol} ${flow.port}`)?.get(flow.replySource.value);
    return kinds?.some((kind) => isOfKind(flow, kind)) ?? false;
  }
}

function isOfKind(flow: Flow, { destination, replySource, replyPort, unreplied }: StaleFlows): boolean {
  return (
    sameAddress(replySource, flow.replySource) &&
    (destination === undefined || sameAddress(destination, flow.destination)) &&
    (replyPort === undefined || replyPort === flow.replyPort) &&
    (unreplied !== true || !flow.replied)
  );
}
