/** The names and addresses of one case. They are computed from its position, so that no case shares an object with another. */
export interface Place {
  /** The name of the case: of its namespace, its pool and its advertisement. */
  readonly name: string;
  /** From 1 on. */
  readonly index: number;
  /** Nine addresses of each family, as ranges of an IPAddressPool. */
  readonly ranges: readonly [ipv4: string, ipv6: string];
}

export function placeOf(name: string, index: number): Place {
  return { name, index, ranges: [`${address4(index, 1)}-${address4(index, 9)}`, `${address6(index, 1)}-${address6(index, 9)}`] };
}

/** Returns the addresses with this ordinal (1 to 9) of the pool of a case. */
export const poolAddresses = ({ index }: Place, ordinal: number): readonly [ipv4: string, ipv6: string] => [
  address4(index, ordinal),
  address6(index, ordinal),
];

/** Returns the ClusterIPs of a Service of a case. `ordinal` is 0 to 9. */
export const clusterAddresses = ({ index }: Place, ordinal: number): readonly [ipv4: string, ipv6: string] => [
  `10.96.${index}.${10 + ordinal}`,
  `fd00:96::${(index * 16 + ordinal).toString(16)}`,
];

const address4 = (index: number, ordinal: number): string => `198.18.${index}.${ordinal}`;
const address6 = (index: number, ordinal: number): string => `2001:db8:${index}::${ordinal}`;
