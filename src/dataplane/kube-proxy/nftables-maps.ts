import { addressFromBytes, type Family } from '../../net/address.ts';
import { frontendKey, type Protocol } from '../../net/frontend.ts';
import type { MapKind } from './seen-frontends.ts';

/** What kube-proxy 1.31 and later has in its nftables mode, as far as Herald reads it: tables `ip kube-proxy` and `ip6 kube-proxy`. */
export const kubeProxyTable = 'kube-proxy';

/** Its first rule looks for the bit of the mark that asks for masquerade. */
export const masqueradeChain = 'masquerading';

/** Maps to verdicts. The key is an address, a protocol and a port, or a protocol and a port for NodePorts. */
export const kubeProxyMaps: Readonly<Record<string, MapKind>> = {
  'service-ips': 'mapped',
  'service-nodeports': 'mapped',
  'no-endpoint-services': 'without',
  'no-endpoint-nodeports': 'without',
};

const protocols: ReadonlyMap<number, Protocol> = new Map([
  [6, 'TCP'],
  [17, 'UDP'],
  [132, 'SCTP'],
]);

/**
 * The frontend that the key of an element stands for, by frontendKey. Fields are padded to four octets. Undefined: it is none that
 * we know.
 */
export function frontendOfKey(family: Family, key: Uint8Array): string | undefined {
  const addressOctets = family === 4 ? 4 : 16;
  const onNode = key.length === 8;
  if (!onNode && key.length !== addressOctets + 8) return undefined;
  const at = onNode ? 0 : addressOctets;
  const protocol = protocols.get(key[at] ?? 0);
  if (protocol === undefined) return undefined;
  const port = ((key[at + 4] ?? 0) << 8) | (key[at + 5] ?? 0);
  return onNode
    ? frontendKey({ kind: 'nodePort', family, protocol, port })
    : frontendKey({ kind: 'address', address: addressFromBytes(key.subarray(0, addressOctets)), protocol, port });
}
