/** Returns the addresses in the list of endpoints of a reason: "10.244.1.10:8080, [fd00::1]:8080 and 2 others". */
export function addressesOfEndpoints(endpoints: string): string[] {
  return [...endpoints.matchAll(/\[([0-9a-f:.]+)\]:\d+|([0-9.]+):\d+/g)].map(([, ipv6, ipv4]) => ipv6 ?? ipv4 ?? '');
}
