import { expect, test } from 'vitest';
import {
  isFor,
  policyRuleText,
  readPolicyRule,
  type PassedPacket,
  type PolicyRule,
} from '../../../../src/dataplane/host/ways/policy-rules.ts';
import { address } from '../../../../src/net/address.ts';
import { prefix } from '../../../../src/net/prefix.ts';

const answer: PassedPacket = { source: address('10.72.0.2'), destination: address('10.9.0.66'), incoming: 'cali1' };
const plain: PolicyRule = { preference: 100, action: 'lookup', table: 52, isOfHost: false, isInverted: false, isUnclear: false };

test.each<[text: string, rule: Partial<PolicyRule>, isFor: boolean]>([
  ['100 (from all lookup 52)', {}, true],
  ['100 (from all lookup main)', { table: 254 }, true],
  ['100 (from 10.72.0.0/24 lookup 52)', { source: prefix('10.72.0.0/24') }, true],
  ['100 (from 10.73.0.2 lookup 52)', { source: prefix('10.73.0.2/32') }, false],
  ['100 (from all to 10.9.0.0/16 prohibit)', { destination: prefix('10.9.0.0/16'), action: 'prohibit' }, true],
  ['100 (from all to 10.8.0.0/16 prohibit)', { destination: prefix('10.8.0.0/16'), action: 'prohibit' }, false],
  ['100 (from all iif cali1 blackhole)', { incoming: 'cali1', action: 'blackhole' }, true],
  ['100 (from all iif cali2 lookup 52)', { incoming: 'cali2' }, false],
  ['100 (from all fwmark 0x80000/0xff0000 lookup 52)', { mark: '0x80000/0xff0000' }, false],
  ['100 (not from all fwmark 0xca6c lookup 52)', { mark: '0xca6c', isInverted: true }, true],
  ['100 (not from 10.72.0.0/24 lookup 52)', { source: prefix('10.72.0.0/24'), isInverted: true }, false],
  ['100 (from all lookup 52)', { isOfHost: true }, false],
])('%s is for an answer, or is not', (text, rule, expected) => {
  expect(policyRuleText({ ...plain, ...rule })).toBe(text);
  expect(isFor({ ...plain, ...rule }, answer)).toBe(expected);
});

/** struct fib_rule_hdr, then attributes: length, type, value. */
const message = (header: readonly number[], ...attributes: readonly (readonly [type: number, ...value: number[]])[]): Uint8Array =>
  Uint8Array.from([
    ...header,
    ...attributes.flatMap(([type, ...value]) => {
      const padding = (4 - (value.length % 4)) % 4;
      return [4 + value.length, 0, type, 0, ...value, ...Array.from({ length: padding }, () => 0)];
    }),
  ]);

test('a rule of the kernel is read with its conditions', () => {
  const wireguard = message([2, 0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0], [15, 0x6c, 0xca, 0, 0], [6, 0xfd, 0x7f, 0, 0], [10, 0x6c, 0xca, 0, 0]);
  expect(readPolicyRule(wireguard)).toEqual({ ...plain, preference: 32_765, table: 51_820, mark: '0xca6c', isInverted: true });
  const refusing = message([2, 24, 32, 0, 0, 0, 0, 8, 0, 0, 0, 0], [6, 100, 0, 0, 0], [2, 10, 72, 0, 2], [1, 10, 9, 0, 0]);
  expect(policyRuleText(readPolicyRule(refusing))).toBe('100 (from 10.72.0.2 to 10.9.0.0/24 prohibit)');
  const byPort = message([2, 0, 0, 0, 52, 0, 0, 1, 0, 0, 0, 0], [6, 9, 0, 0, 0], [23, 80, 0, 80, 0]);
  expect(readPolicyRule(byPort)).toMatchObject({ preference: 9, table: 52, isUnclear: true });
  const ofHost = message([2, 0, 0, 0, 52, 0, 0, 1, 0, 0, 0, 0], [17, 101, 116, 104, 48, 0]);
  expect(readPolicyRule(ofHost)).toMatchObject({ isOfHost: true, isUnclear: false });
});
