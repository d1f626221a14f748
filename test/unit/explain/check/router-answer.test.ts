import { expect, test } from 'vitest';
import { readRouterAnswer } from '../../../../src/explain/check/router-answer.ts';

const prefix = '198.51.100.10/32';
const read = (text: string, of = prefix) => readRouterAnswer(text, of, 40);

test('JSON of FRR bgpd: the best path and those used with it', () => {
  const path = (ip: string, more: object): object => ({ valid: true, nexthops: [{ ip, afi: 'ipv4', used: true }], ...more });
  const text = JSON.stringify({
    prefix,
    paths: [
      path('10.1.0.12', { multipath: true, bestpath: { overall: true } }),
      path('10.1.0.11', { multipath: true }),
      path('10.8.1.1', {}),
    ],
  });
  expect(read(text)).toEqual({ has: 'best', nextHops: ['10.1.0.11', '10.1.0.12'] });
});

test('JSON of FRR bgpd: paths without a best one are not used', () => {
  expect(read(JSON.stringify({ prefix, paths: [{ nexthops: [{ ip: '10.1.0.12', accessible: false }] }] }))).toEqual({
    has: 'unusable',
    nextHops: ['10.1.0.12'],
  });
});

test('JSON of FRR bgpd: a covering route is no route to the prefix', () => {
  const text = JSON.stringify({ prefix: '198.51.100.0/24', paths: [{ bestpath: { overall: true }, nexthops: [{ ip: '10.1.0.12' }] }] });
  expect(read(text)).toEqual({ has: 'covered', by: '198.51.100.0/24', nextHops: ['10.1.0.12'] });
});

test('JSON of FRR zebra, and a global next hop in place of a link-local one', () => {
  const v6 = '2001:db8::1/128';
  const routes = [{ prefix: v6, protocol: 'bgp', selected: true, nexthops: [{ ip: 'fd00:1::11' }, { ip: 'fe80::1' }] }];
  expect(read(JSON.stringify({ [v6]: routes }), v6)).toEqual({ has: 'best', nextHops: ['fd00:1::11'] });
});

test.each([
  '{}',
  '{}\n',
  '% Network not in table\n',
  'BIRD 2.0.12 ready.\nNetwork not found\n',
  'BIRD 3.1.7 ready.\nNetwork not in table\n',
])('no route: %j', (text) => expect(read(text)).toEqual({ has: 'none' }));

test('text of BIRD: the route with the asterisk, with several next hops', () => {
  const text = `BIRD 2.0.12 ready.
Table master4:
198.51.100.10/32     unicast [node1 17:00:00.000] * (100) [AS64512i]
\tvia 10.1.0.11 on br0 weight 1
\tvia 10.1.0.12 on br0 weight 1
                     unicast [spine 17:00:00.000] (100) [AS64512i]
\tvia 10.8.1.1 on spine
`;
  expect(read(text)).toEqual({ has: 'best', nextHops: ['10.1.0.11', '10.1.0.12'] });
});

test('other text is kept to be shown, cut', () => {
  expect(read(`Routing entry for ${prefix}, and much more text`)).toEqual({
    has: 'unread',
    text: 'Routing entry for 198.51.100.10/32, and ',
  });
  expect(read('[1, 2]')).toEqual({ has: 'unread', text: '[1, 2]' });
  expect(read('{"error":"no"}')).toEqual({ has: 'unread', text: '{"error":"no"}' });
});
