/** What the scenarios found where moto is not AWS. Each is seen to be there still: one that moto has mended fails its test. */
export interface Difference {
  readonly scenario: string;
  readonly versions: readonly string[];
  readonly what: string;
  /** By what it shows. */
  readonly shows: RegExp;
}

export const differences: readonly Difference[] = [
  {
    scenario: 'another certificate on an NLB, without its listener being made anew',
    versions: ['5.1.1', '5.2.5'],
    what: 'ModifyListener without a protocol ignores certificates, so that the provider sees the old one again and again',
    shows: /its certificate|no end after/,
  },
  {
    scenario: 'a port that begins to have a certificate',
    versions: ['5.1.1', '5.2.5'],
    what: 'ModifyListener takes no protocol but HTTP, HTTPS and TCP',
    shows: /no end after/,
  },
  {
    scenario: 'two certificates: the first is the default, the second is added, and goes when it is no longer wanted',
    versions: ['5.1.1'],
    what: 'DescribeListenerCertificates does not say which one is the default',
    shows: /to deeply equal/,
  },
  {
    scenario: 'source ranges are the rules of its security group, and change with them',
    versions: ['5.1.1'],
    what: 'RevokeSecurityGroupIngress of a source that other ports have as well says that it is done, and is not',
    shows: /no end after/,
  },
];
