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

/** It has one rule, which sets the bit of the mark that asks for masquerade; every mode with iptables has the chain. */
export const markChain: Chain = { table: 'nat', name: 'KUBE-MARK-MASQ' };

const protocols: ReadonlyMap<string, Protocol> = new Map([
  ['tcp', 'TCP'],
  ['udp', 'UDP'],
  ['sctp', 'SCTP'],
]);

/** A frontend of one rule of these chains, in the arguments that `iptables -S` prints, and what becomes of its packets. */
export function frontendOfRule(family: Family, rule: string): { readonly part: MapKind; readonly frontend: string } | undefined {
  const part = partOf(/ -j (\S+)/.exec(rule)?.[1] ?? '');
  const protocol = protocols.get(/ -p (\S+)/.exec(rule)?.[1] ?? '');
  const port = / --dport (\d+)(?: |$)/.exec(rule)?.[1];
  if (part === undefined || protocol === undefined || port === undefined) return undefined;
  const [, destination, length] = /(?<!!) -d ([0-9a-f.:]+)\/(\d+)/.exec(rule) ?? [];
  if (destination === undefined) return { part, frontend: `NodePort IPv${family} ${protocol} ${port}` };
  const address = parseAddress(destination);
  // A rule for a network, as that which counts connections to 127.0.0.0/8, is of no frontend.
  if (!address.ok || length !== (family === 4 ? '32' : '128')) return undefined;
  return { part, frontend: `${formatAddress(address.value)} ${protocol} ${port}` };
}

/** kube-proxy's ipvs mode has these chains too, and finds its addresses in ipsets. */
export function isOfIpvs(rule: string): boolean {
  return / --match-set KUBE-/.test(rule);
}

/** The bit of "-j MARK --set-xmark 0x4000/0x4000"; of "--or-mark 0x4000" as well. */
export function markBit(rule: string): number | undefined {
  const value = Number(/ --(?:set-xmark|or-mark|set-mark) (0x[0-9a-f]+)/.exec(rule)?.[1] ?? 0);
  const bit = Math.log2(value);
  return value > 0 && Number.isInteger(bit) ? bit : undefined;
}

function partOf(target: string): MapKind | undefined {
  if (/^KUBE-(?:SVC|SVL|EXT|FW|XLB)-/.test(target)) return 'mapped';
  return target === 'REJECT' || target === 'DROP' ? 'without' : undefined;
}
