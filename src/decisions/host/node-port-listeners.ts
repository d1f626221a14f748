import { reason, type Reason } from '../../model/reasons.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import { formatAddress, parseAddress } from '../../net/address.ts';
import type { FrontendMatch } from '../../net/frontend.ts';
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
  return sorted(found);
}

/**
 * Finds programs that listen where a Service has an address of this host itself, such as an external IP that is a node's: connections to the
 * program go to the Service. `own`: the host's addresses, as text.
 */
export function judgeOwnAddresses(
  sockets: readonly ListeningSocket[],
  frontends: Iterable<readonly [ServiceKey, readonly FrontendMatch[]]>,
  own: ReadonlySet<string>,
): Reason[] {
  const listening = Map.groupBy(sockets, ({ protocol, port }) => `${protocol} ${port}`);
  const found = new Map<string, Reason>();
  for (const [service, matches] of frontends) {
    for (const match of matches) {
      if (match.kind !== 'address') continue;
      const { protocol, port } = match;
      const address = formatAddress(match.address);
      const listens = ({ address: text }: ListeningSocket): boolean => {
        const at = parseAddress(text);
        // A socket at "::" takes IPv4 as well, unless the program forbids that.
        return at.ok && (formatAddress(at.value) === address || (at.value.value === 0n && at.value.family >= match.address.family));
      };
      if (!own.has(address) || !(listening.get(`${protocol} ${port}`) ?? []).some(listens)) continue;
      found.set(`${protocol} ${port} ${address}`, reason('OwnAddressListener', { port, protocol, address, service }));
    }
  }
  return sorted(found);
}

function sorted(found: ReadonlyMap<string, Reason>): Reason[] {
  return [...found].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, because]) => because);
}
