/** A difference that has a reason, which docs/reference/aws.md names in the same words. */
export interface KnownDifference {
  readonly what: RegExp;
  /** The values of Herald and of the other controller. Absent: any. */
  readonly values?: readonly [RegExp, RegExp];
  /** Absent: all Services. */
  readonly services?: readonly string[];
  readonly reason: string;
}

export const knownDifferences: readonly KnownDifference[] = [
  {
    what: /: target attribute proxy_protocol_v2\.enabled$/,
    values: [/^$/, /^false$/],
    reason: 'LBC writes that the proxy protocol is off. This is the default, which Herald does not write.',
  },
  {
    what: /^listener TLS \d+: TLS policy$/,
    values: [/TLS13/, /^ELBSecurityPolicy-2016-08$/],
    reason: 'Without an annotation LBC uses a TLS policy of 2016. Herald uses one that accepts TLS 1.2 and 1.3 only.',
  },
  {
    what: /^listener (?:TCP|UDP|TCP_UDP) 53: /,
    services: ['tcp-and-udp'],
    reason: 'TCP and UDP on one port become one TCP_UDP listener. LBC does this with a flag; without it, it serves one of both.',
  },
];
