/** The facts from which bgpd.conf of a router in the standard lab is written. */
export interface BgpConfig {
  readonly asn: number;
  readonly routerId: string;
  readonly neighbors: readonly { readonly address: string; readonly asn: number }[];
  /** Accepts any neighbor of this AS from these prefixes, and announces nothing to it. */
  readonly listen?: { readonly asn: number; readonly prefixes: readonly string[]; /** By the profile `lab`. */ readonly bfd?: boolean };
}

/**
 * Writes bgpd.conf: one session for each family and neighbor, with connection attempts each second and a hold time of nine seconds.
 * `multipath-relax` uses paths of equal length through different neighbors together, as ECMP to nodes behind two ToRs needs.
 */
export function bgpdConfig(config: BgpConfig): string {
  const fixed = config.neighbors.flatMap(({ address, asn }) => [
    `neighbor ${address} remote-as ${asn}`,
    `neighbor ${address} timers 3 9`,
    `neighbor ${address} timers connect 1`,
    `neighbor ${address} advertisement-interval 0`,
  ]);
  const dynamic =
    config.listen === undefined
      ? []
      : [
          'neighbor NODES peer-group',
          `neighbor NODES remote-as ${config.listen.asn}`,
          ...(config.listen.bfd === true ? ['neighbor NODES bfd', 'neighbor NODES bfd profile lab'] : []),
          ...config.listen.prefixes.map((prefix) => `bgp listen range ${prefix} peer-group NODES`),
        ];
  return `${[
    ...(config.listen === undefined ? [] : ['route-map NOTHING deny 10', 'exit']),
    `router bgp ${config.asn}`,
    `bgp router-id ${config.routerId}`,
    'no bgp default ipv4-unicast',
    'no bgp ebgp-requires-policy',
    'no bgp network import-check',
    'bgp log-neighbor-changes',
    'bgp bestpath as-path multipath-relax',
    ...fixed,
    ...dynamic,
    ...family('ipv4', config),
    ...family('ipv6', config),
    'exit',
  ].join('\n')}\n`;
}

function family(name: 'ipv4' | 'ipv6', config: BgpConfig): readonly string[] {
  const own = config.neighbors.filter(({ address }) => address.includes(':') === (name === 'ipv6'));
  return [
    `address-family ${name} unicast`,
    'maximum-paths 16',
    ...own.map(({ address }) => `neighbor ${address} activate`),
    // Every session with a node carries both families: a speaker may send IPv6 routes over an IPv4 session, or the reverse.
    ...(config.listen === undefined ? [] : ['neighbor NODES activate', 'neighbor NODES route-map NOTHING out']),
    'exit-address-family',
  ];
}

/** Writes bfdd.conf with the profile `lab`, which `listen.bfd` uses. */
export function bfddConfig(milliseconds: number): string {
  const intervals = [`transmit-interval ${milliseconds}`, `receive-interval ${milliseconds}`, 'detect-multiplier 3'];
  return `${['bfd', 'profile lab', ...intervals, 'exit', 'exit'].join('\n')}\n`;
}
