import { reason, type Reason } from '../../model/reasons.ts';
import { formatAddress, parseAddress } from '../../net/address.ts';
import { prefix, prefixContains, type Prefix } from '../../net/prefix.ts';
import type { ListeningSocket } from '../../system/listening-sockets.ts';

/** NodePorts never answer on these. */
const loopbacks = [prefix('127.0.0.0/8'), prefix('::1/128')];

export interface NodePorts {
  /** The Service by protocol and port ("TCP 30080"). */
  readonly owners: ReadonlyMap<string, string>;
  readonly addresses: readonly Prefix[];
}

/** Finds programs that listen where NodePorts are answered: the kernel allows both, and connections go to the Service. */
export function judgeListeners(sockets: readonly ListeningSocket[], { owners, addresses }: NodePorts): Reason[] {
  const found = new Map<string, Reason>();
  for (const { protocol, address: text, port } of sockets) {
    const service = owners.get(`${protocol} ${port}`);
    const address = parseAddress(text);
    if (service === undefined || !address.ok || loopbacks.some((hole) => prefixContains(hole, address.value))) continue;
    const everywhere = address.value.value === 0n;
    if (!everywhere && !addresses.some((each) => prefixContains(each, address.value))) continue;
    const details = { port, protocol, address: formatAddress(address.value), service };
    found.set(`${protocol} ${port} ${details.address}`, reason('NodePortListener', details));
  }
  return [...found].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, because]) => because);
}
