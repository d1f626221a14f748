import { expect, test } from 'vitest';
import { judgeService, serviceConditions } from '../../../../src/controller/services/service-conditions.ts';
import { judgementOf } from '../../../../src/controller/services/service-judgement.ts';
import type { HeldBackFamily } from '../../../../src/model/objects/node-state.ts';
import { reason } from '../../../../src/model/reasons.ts';
import { cluster, type ClusterLiteral } from '../../decisions/fixtures.ts';

const peer = { tor: '10.0.0.254' };
const base: ClusterLiteral = {
  services: [{ name: 'web', assigned: ['192.0.2.1', '2001:db8::1'], ipFamilies: [4, 6] }],
  slices: [
    { service: 'web', name: 'web-4', endpoints: ['10.1.0.1@a', '10.1.0.2@b', '10.1.0.3@c'] },
    { service: 'web', name: 'web-6', endpoints: ['fd10::1@a', 'fd10::2@b', 'fd10::3@c'] },
  ],
  pools: [{ name: 'prod', addresses: ['192.0.2.0/24', '2001:db8::/64'] }],
  advertisements: [{ name: 'ad' }],
  peers: [{ name: 'tor', dualStackAddressFamily: true }],
  nodes: [{ name: 'a' }, { name: 'b' }, { name: 'c' }],
  running: { a: peer, b: peer, c: peer },
};
const held: HeldBackFamily = {
  family: 'IPv4',
  since: '2026-01-01T00:00:00Z',
  settled: true,
  reason: reason('KernelSettingWrong', { setting: 'net.ipv4.ip_forward', value: '0', wanted: '1', why: 'nothing passes', error: '' }),
};

function announced(heldBack: ClusterLiteral['heldBack'], more: ClusterLiteral = {}): readonly string[] {
  const snapshot = cluster({ ...base, ...more, heldBack: heldBack ?? {} });
  const [web] = snapshot.services.values();
  if (web === undefined) throw new RangeError('no service');
  // oxlint-disable-next-line no-restricted-globals -- reading a date from text is pure
  const conditions = serviceConditions(snapshot, web, { reason: undefined, details: [] }, Date.parse('2026-01-01T00:00:05Z'));
  const condition = conditions.find(({ type }) => type === 'herald.dev/Announced');
  return [condition?.status ?? '', condition?.reason ?? '', condition?.message ?? ''];
}

test('the condition says on how many nodes routes are held back, why, and the fix', () => {
  expect(announced({})).toEqual(['True', 'Announced', 'Every address of the Service is announced by at least one node']);
  expect(announced({ b: [held] })).toEqual([
    'True',
    'Announced',
    'Every address of the Service is announced by at least one node. 1 of 3 nodes holds its routes back: node "b" does not forward IPv4 ' +
      '(net.ipv4.ip_forward is 0 and should be 1: nothing passes): it has withdrawn its IPv4 routes. Fix: run on the node: sysctl -w net.ipv4.ip_forward=1',
  ]);
  expect(announced({ a: [held], b: [held] })[2]).toContain('2 of 3 nodes hold their routes back: node "a"');
});

test('the condition has reason HeldBackLastNextHop when only nodes that cannot forward announce an address', () => {
  const [status, code, message] = announced({ a: [held], b: [held], c: [held] });
  expect([status, code]).toEqual(['True', 'HeldBackLastNextHop']);
  expect(message).toMatch(
    /^Announced over IPv6, but not served over IPv4 at 192\.0\.2\.1: node "a" does not forward IPv4 .* Run on the node: sysctl/,
  );
});

test('Programmed says that connections to endpoints on a node that does not forward time out', () => {
  const [web, snapshot] = ((literal: ClusterLiteral) => {
    const of = cluster(literal);
    return [[...of.services.values()][0], of] as const;
  })({ ...base, heldBack: { b: [held] } });
  if (web === undefined) throw new RangeError('no service');
  // oxlint-disable-next-line no-restricted-globals -- reading a date from text is pure
  const conditions = serviceConditions(snapshot, web, { reason: undefined, details: [] }, Date.parse('2026-01-01T00:00:05Z'));
  expect(conditions.find(({ type }) => type === 'herald.dev/Programmed')).toMatchObject({
    status: 'False',
    reason: 'EndpointsCutOff',
    message: expect.stringMatching(/^Not served at 192\.0\.2\.1|^Announced over IPv6, but not|^Not fully served/) as unknown,
  });
});

test('the condition does not change with hostProblems: report or before the problem has settled', () => {
  expect(announced({ b: [held] }, { config: { hostProblems: 'report' } })[2]).toBe(
    'Every address of the Service is announced by at least one node',
  );
  expect(announced({ b: [{ ...held, settled: false }] })[2]).toBe('Every address of the Service is announced by at least one node');
});

test('the Service is not served when only nodes that cannot forward announce its addresses', () => {
  const snapshot = cluster({ ...base, nodes: [{ name: 'a' }], running: { a: peer }, heldBack: { a: [held, { ...held, family: 'IPv6' }] } });
  const [web] = snapshot.services.values();
  if (web === undefined) throw new RangeError('no service');
  // oxlint-disable-next-line no-restricted-globals -- reading a date from text is pure
  const { line, code, outcome } = judgementOf(snapshot, web, undefined, Date.parse('2026-01-01T00:00:05Z')).verdict();
  expect([outcome, code]).toEqual(['notServed', 'HeldBackLastNextHop']);
  expect(line).toContain('does not forward');
});

test('a Service announced only by nodes that cannot forward is a problem, even if conditions are True', () => {
  const snapshot = cluster({ ...base, heldBack: { a: [held], b: [held], c: [held] } });
  const [web] = snapshot.services.values();
  if (web === undefined) throw new RangeError('no service');
  // oxlint-disable-next-line no-restricted-globals -- reading a date from text is pure
  const { conditions, verdict } = judgeService(snapshot, web, { reason: undefined, details: [] }, Date.parse('2026-01-01T00:00:05Z'));
  expect(conditions.map(({ status }) => status)).toEqual(['True', 'True', 'True']);
  expect(verdict).toMatchObject({ code: 'HeldBackLastNextHop' });
});
