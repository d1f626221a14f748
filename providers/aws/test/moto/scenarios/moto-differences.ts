/** Differences between moto and AWS that the scenarios found. Each is tested to still exist, so a fix in moto fails its test. */
export interface Difference {
  readonly scenario: string;
  readonly versions: readonly string[];
  readonly what: string;
  /** The failure that reveals the difference. */
  readonly shows: RegExp;
}

export const differences: readonly Difference[] = [
  {
    scenario: 'a new certificate on an NLB keeps the listener',
    versions: ['5.1.1', '5.2.5'],
    what: 'ModifyListener without a protocol ignores certificates, so the old one stays',
    shows: /its certificate|to match object/,
  },
  {
    scenario: 'a port gets its first certificate',
    versions: ['5.1.1', '5.2.5'],
    what: 'ModifyListener accepts only the protocols HTTP, HTTPS and TCP',
    shows: /no end after/,
  },
  {
    scenario: 'the first of two certificates is the default, and the second is added and removed',
    versions: ['5.1.1'],
    what: 'DescribeListenerCertificates does not say which one is the default',
    shows: /to deeply equal/,
  },
  {
    scenario: 'the rules of the security group follow the source ranges',
    versions: ['5.1.1'],
    what: 'RevokeSecurityGroupIngress reports success but keeps a source that other ports use too',
    shows: /no end after/,
  },
  {
    scenario: 'reserved capacity follows its annotation',
    versions: ['5.1.1', '5.2.5'],
    what: 'ModifyCapacityReservation is not implemented',
    shows: /no end after/,
  },
];
