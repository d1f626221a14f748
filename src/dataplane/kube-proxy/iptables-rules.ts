import { formatAddress, parseAddress, type Family } from '../../net/address.ts';
import type { Protocol } from '../../net/frontend.ts';
import type { MapKind } from './seen-frontends.ts';

export interface Chain {
  readonly table: 'nat' | 'filter';
  readonly name: string;
}

/** The chains of kube-proxy's iptables mode that name frontends. */
export const frontendChains: readonly Chain[] = [
  { table: 'nat', name: 'KUBE-SERVICES' },
  { table: 'nat', name: 'KUBE-NODEPORTS' },
  { table: 'filter', name: 'KUBE-SERVICES' },
  { table: 'filter', name: 'KUBE-EXTERNAL-SERVICES' },
];

/** The chain whose only rule sets the mark bit that requests masquerade. Every mode with iptables has it. */
export const markChain: Chain = { table: 'nat', name: 'KUBE-MARK-MASQ' };

const protocols: ReadonlyMap<string, Protocol> = new Map([
  ['tcp', 'TCP'],
  ['udp', 'UDP'],
  ['sctp', 'SCTP'],
]);

/**
 * Returns the frontend of a rule of these chains, given in the arguments that `iptables -S` prints, and whether its packets have a
 * destination.
 */
export function frontendOfRule(family: Family, rule: string): { readonly part: MapKind; readonly frontend: string } | undefined {
  const part = partOf(/ -j (\S+)/.exec(rule)?.[1] ?? '');
  const protocol = protocols.get(/ -p (\S+)/.exec(rule)?.[1] ?? '');
  const port = / --dport (\d+)(?: |$)/.exec(rule)?.[1];
  if (part === undefined || protocol === undefined || port === undefined) return undefined;
  const [, destination, length] = /(?<!!) -d ([0-9a-f.:]+)\/(\d+)/.exec(rule) ?? [];
  if (destination === undefined) return { part, frontend: `NodePort IPv${family} ${protocol} ${port}` };
  const address = parseAddress(destination);
  // A rule for a network, such as the one that counts connections to 127.0.0.0/8, belongs to no frontend.
  if (!address.ok || length !== (family === 4 ? '32' : '128')) return undefined;
  return { part, frontend: `${formatAddress(address.value)} ${protocol} ${port}` };
}

/** Returns true for a rule of kube-proxy's ipvs mode. That mode has the same chains, but matches addresses by ipsets. */
export function isOfIpvs(rule: string): boolean {
  return / --match-set KUBE-/.test(rule);
}

/** Returns the bit of "-j MARK --set-xmark 0x4000/0x4000" or of "--or-mark 0x4000". */
export function markBit(rule: string): number | undefined {
  const value = Number(/ --(?:set-xmark|or-mark|set-mark) (0x[0-9a-f]+)/.exec(rule)?.[1] ?? 0);
  const bit = Math.log2(value);
  return value > 0 && Number.isInteger(bit) ? bit : undefined;
}

function partOf(target: string): MapKind | undefined {
  if (/^KUBE-(?:SVC|SVL|EXT|FW|XLB)-/.test(target)) return 'mapped';
  return target === 'REJECT' || target === 'DROP' ? 'without' : undefined;
}
