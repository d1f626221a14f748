/**
 * Returns the subnet whose addresses one machine may use: the /24 of an IPv4 address, the /64 of an IPv6 address. `address` is canonical
 * text, as the kernel's addresses are written (RFC 5952), perhaps with a zone.
 */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address.split('.').slice(0, 3).join('.');
  const [head = '', tail] = (address.split('%')[0] ?? '').split('::');
  const first = head === '' ? [] : head.split(':');
  const last = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? [] : Array.from({ length: 8 - first.length - last.length }, () => '0');
  return [...first, ...zeros, ...last].slice(0, 4).join(':');
}

/**
 * Reports whether a client runs on this host, such as the kubelet: the kernel sends from the address that it sends to, unless the client
 * chooses another one. The kernel drops packets from outside that claim to come from an address of the host.
 */
export function isOwn(remote: string, local: string): boolean {
  return remote === local || remote === '::1' || remote.startsWith('127.');
}
