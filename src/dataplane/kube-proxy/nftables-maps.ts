import { addressFromBytes, type Family } from '../../net/address.ts';
import { frontendKey, type Protocol } from '../../net/frontend.ts';
import type { MapKind } from './seen-frontends.ts';

/** The parts of kube-proxy's nftables mode (1.31 and later) that Herald reads: tables `ip kube-proxy` and `ip6 kube-proxy`. */
export const kubeProxyTable = 'kube-proxy';

/** The chain whose first rule matches the bit of the mark that requests masquerade. */
export const masqueradeChain = 'masquerading';

/** Maps to verdicts. The key is an address, a protocol and a port; for NodePorts a protocol and a port. */
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
 * Returns the frontend of an element's key, as frontendKey. Fields are padded to four octets. Undefined: the key is not one that Herald
 * knows.
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
