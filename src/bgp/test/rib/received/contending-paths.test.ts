import { expect, test } from 'vitest';
import { maximumContendingPaths, maximumSpecificPaths } from '../../../../../src/bgp/limits.ts';
import { ContendingPaths, type PathOrigin } from '../../../../../src/bgp/rib/received/contending-paths.ts';
import { formatPrefix, type Prefix } from '../../../../../src/net/prefix.ts';
import { update } from './received.ts';

const announced = (...own: readonly string[]) => {
  const all = new Set(own);
  return (prefix: Prefix): boolean => all.has(formatPrefix(prefix));
};

const of = (paths: ContendingPaths, ...own: readonly string[]): string[] =>
  paths
    .contending(announced(...own), () => true)
    .map(({ own: ours, prefix, nextHops, asPath }) => [ours, prefix, nextHops, asPath].join(' '));

test.each([
  ['an equal prefix', '192.0.2.1/32', '192.0.2.1/32', ['192.0.2.1/32 192.0.2.1/32 10.0.0.1 65001']],
  ['a part of an aggregate', '192.0.2.0/25', '192.0.2.1/32', ['192.0.2.0/25 192.0.2.1/32 10.0.0.1 65001']],
  ['an equal prefix of IPv6', '2001:db8::1/128', '2001:db8::1/128', ['2001:db8::1/128 2001:db8::1/128 2001:db8::1 65001']],
  ['a part of an aggregate of IPv6', '2001:db8::/64', '2001:db8::1/128', ['2001:db8::/64 2001:db8::1/128 2001:db8::1 65001']],
  ['another prefix', '192.0.2.2/32', '192.0.2.1/32', []],
  ['a wider prefix, such as the default route', '192.0.2.1/32', '0.0.0.0/0', []],
])('%s contends with ours, or not', (_, own, received, expected) => {
  const paths = new ContendingPaths();
  paths.take(update([received]));
  expect(of(paths, own)).toEqual(expected);
});

test('a path counts before and after the prefix is announced here, until the peer withdraws it', () => {
  const paths = new ContendingPaths();
  expect(paths.take(update(['192.0.2.1/32'])).map(formatPrefix)).toEqual(['192.0.2.1/32']);
  expect(of(paths)).toEqual([]);
  expect(of(paths, '192.0.2.1/32')).toHaveLength(1);
  paths.take(update([], ['192.0.2.1/32']));
  expect(of(paths, '192.0.2.1/32')).toEqual([]);
  paths.take(update(['192.0.2.1/32']));
  paths.take({ ...update(['192.0.2.1/32']), treatAsWithdraw: true });
  expect(of(paths, '192.0.2.1/32')).toEqual([]);
});

test('prefixes of the default-free zone are not kept, several paths of one prefix tell nothing, and the number is bounded', () => {
  const paths = new ContendingPaths();
  expect(paths.take(update(['192.0.2.0/24', '2001:db8::/48'].slice(0, 1)))).toEqual([]);
  expect(paths.take(update(['192.0.2.1/32 7']))).toEqual([]);
  const many = Array.from({ length: maximumSpecificPaths + 5 }, (_, at) => `10.0.${at >> 8}.${at & 255}/32`);
  expect(paths.take(update(many))).toHaveLength(maximumSpecificPaths);
  expect(of(paths, ...many)).toHaveLength(maximumContendingPaths);
});

test('paths of speakers that do not count hide no other, and each UPDATE is judged once', () => {
  const paths = new ContendingPaths();
  const ofNodes = Array.from({ length: maximumContendingPaths * 4 }, (_, at) => `192.0.2.${at}/32`);
  paths.take(update(ofNodes));
  paths.take(update(['192.0.2.200/32'], [], { asPath: [{ kind: 'sequence', asns: [65001, 64999] }] }));
  const judged: string[] = [];
  const counts = ({ asPath }: PathOrigin): boolean => {
    judged.push(asPath.join(' '));
    return asPath.includes(64999);
  };
  const found = paths.contending(announced(...ofNodes, '192.0.2.200/32'), counts);
  expect(found.map(({ own, asPath }) => `${own} ${asPath.join(' ')}`)).toEqual(['192.0.2.200/32 65001 64999']);
  expect(judged).toEqual(['65001', '65001 64999']);
});
