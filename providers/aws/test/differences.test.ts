import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { differences } from '../bench/comparison/differences.ts';
import { knownDifferences } from '../bench/comparison/known-differences.ts';
import type { Made } from '../bench/comparison/made.ts';

const made = (service: string, entries: Readonly<Record<string, string>>): Made => new Map([[service, new Map(Object.entries(entries))]]);

describe('the comparison of the benchmark', () => {
  const policy = 'listener TLS 443: TLS policy';
  const lbc = made('tls', { [policy]: 'ELBSecurityPolicy-2016-08', scheme: 'internal' });

  test('finds a value that differs and one that only one controller has', () => {
    const herald = made('tls', { [policy]: 'ELBSecurityPolicy-2016-08', 'listener TLS 443: ALPN': 'HTTP2Only' });
    expect(differences(['tls'], herald, lbc).map(({ what, herald: ours, other, reason }) => [what, ours, other, reason])).toEqual([
      ['listener TLS 443: ALPN', 'HTTP2Only', '', undefined],
      ['scheme', '', 'internal', undefined],
    ]);
  });

  test('knows the reason of a difference only with the values that it was given for', () => {
    const reasonOf = (value: string): string | undefined =>
      differences(['tls'], made('tls', { [policy]: value, scheme: 'internal' }), lbc)[0]?.reason;
    expect(reasonOf('ELBSecurityPolicy-TLS13-1-2-2021-06')).toContain('a TLS policy of 2016');
    expect(reasonOf('ELBSecurityPolicy-TLS-1-0-2015-04')).toBeUndefined();
  });

  test('reports a Service for which one controller has made nothing', () => {
    expect(differences(['tls'], new Map(), lbc).map(({ what }) => what)).toEqual([policy, 'scheme']);
  });

  test('has each reason in the reference', () => {
    const reference = readFileSync(join(import.meta.dirname, '../../../docs/reference/aws.md'), 'utf8').replaceAll(/\s+/g, ' ');
    expect(knownDifferences.map(({ reason }) => reason).filter((reason) => !reference.includes(reason))).toEqual([]);
  });
});
