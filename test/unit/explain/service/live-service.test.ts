import { expect, test } from 'vitest';
import { explainLiveService } from '../../../../src/explain/service/live-service.ts';
import type { LiveNode } from '../../../../src/explain/sessions/live-view.ts';
import type { LiveCheck, LiveEndpointCheck } from '../../../../src/live/contract.ts';
import type { FailingEndpoints, NodeState, SessionStatus } from '../../../../src/model/objects/node-state.ts';
import { version } from '../../../../src/model/objects/version.ts';
import { reason, type Reason } from '../../../../src/model/reasons.ts';
import { cluster, metadata } from '../../decisions/fixtures.ts';

const now = Date.UTC(2026, 0, 1);
const ago = (seconds: number): string => new Date(now - seconds * 1000).toISOString();
const addresses = ['192.0.2.1', '2001:db8::1'] as const;

const sessions: SessionStatus[] = ['tor4', 'tor6'].map((peer) => ({
  peer,
  address: '',
  state: 'Established',
  since: ago(1_000),
  localASN: 64_512,
  peerASN: 64_513,
  prefixesSent: 1,
}));

interface Seen {
  /** Seconds since the last answer at each address. Undefined: none was reported. */
  readonly answered: readonly (number | undefined)[];
  readonly endpoint?: Omit<LiveEndpointCheck, 'endpoint'>;
  readonly failing?: Reason;
  readonly stale?: true;
  /** The agent was not asked. */
  readonly isSilent?: true;
}

function line({ answered, endpoint = {}, failing, stale, isSilent }: Seen): string {
  const frontends = addresses.filter((_, at) => answered[at] !== undefined).map((one) => `${one} TCP 80`);
  const entry: FailingEndpoints[] =
    failing === undefined ? [] : [{ service: 'shop/web', family: 'IPv4', port: '80/TCP', areAll: true, reason: failing }];
  const state: NodeState = {
    kind: 'NodeState',
    metadata: metadata('n1'),
    updated: ago(0),
    version,
    consumed: {},
    sessions,
    differing: [],
    checks: { mode: 'passive', answered: stale === true ? [] : frontends, failing: entry },
  };
  const snapshot = cluster({
    services: [{ name: 'shop/web', clusterIPs: ['10.96.0.1', 'fd00:96::1'], ports: ['http:80/TCP'], assigned: [...addresses] }],
    slices: [
      { service: 'shop/web', ports: ['http:8080/TCP'], endpoints: ['10.244.1.1@n1'] },
      { service: 'shop/web', name: 'web-6', ports: ['http:8080/TCP'], endpoints: ['fd00:1::1@n1'] },
    ],
    pools: [{ name: 'main', addresses: ['192.0.2.0/28', '2001:db8::/124'] }],
    peers: [
      { name: 'tor4', peerAddress: '10.0.0.254' },
      { name: 'tor6', peerAddress: 'fd00::254' },
    ],
    advertisements: [{ name: 'all' }],
    nodes: [{ name: 'n1' }],
  });
  const checks = addresses.flatMap((address, at): LiveCheck[] => {
    const seconds = answered[at];
    const check = { frontend: `${address} TCP 80`, service: 'shop/web', endpoints: [{ endpoint: '10.244.1.1:8080', ...endpoint }] };
    return [{ ...check, ...(seconds === undefined ? {} : { answered: ago(seconds) }), ...(stale === undefined ? {} : { stale }) }];
  });
  const live = new Map<string, LiveNode>(isSilent === true ? [] : [['n1', { started: ago(5_000), sessions, checks }]]);
  const explanation = explainLiveService({ ...snapshot, nodeStates: new Map([['n1', state]]) }, 'shop/web', now, { live });
  return explanation?.verdict.line ?? '';
}

const refuses = reason('EndpointRefuses', { node: 'n1', endpoints: '10.244.1.1:8080' });
const silent = reason('EndpointSilent', { node: 'n1', endpoints: '10.244.1.1:8080' });

test('a Service that was answered over both families has the age of the last answer over each', () => {
  expect(line({ answered: [12, 540] })).toMatch(
    /; connections were answered in the last 10 minutes \(over IPv4 12 s ago, over IPv6 9 min ago\)\.$/,
  );
  expect(line({ answered: [12, 540], isSilent: true })).toMatch(/; connections were answered in the last 10 minutes\.$/);
});

test('a Service that was answered over one family is not served, and has the state of each', () => {
  expect(line({ answered: [12, undefined] })).toBe(
    'Announced, not checked: 192.0.2.1 and 2001:db8::1 via n1; connections were answered over IPv4 12 s ago, and no answer to a connection to 2001:db8::1 was seen lately. Check it: herald check service shop/web.',
  );
  expect(line({ answered: [undefined, 12], isSilent: true })).toContain(
    '; connections were answered over IPv6 in the last 10 minutes, and no answer to a connection to 192.0.2.1 was seen lately.',
  );
});

test('an answer that tells little of now makes no Service served', () => {
  expect(line({ answered: [12, 12], stale: true })).toMatch(/^Announced, not checked: .* no answer to a connection was seen lately\./);
});

test.each([
  [refuses, { refused: ago(145) }, 'connections to 10.244.1.1:8080 were refused, the last one 145 s ago.'],
  [refuses, { refused: ago(5), silent: ago(90) }, 'connections to 10.244.1.1:8080 are refused.'],
  [refuses, {}, 'connections to 10.244.1.1:8080 are refused.'],
  [silent, { silent: ago(90) }, 'connections to 10.244.1.1:8080 got no answer, the last one 90 s ago.'],
] as const)('a failure is told in the past tense, with its age, when it was seen some time ago: %#', (failing, endpoint, sentence) => {
  expect(line({ answered: [12, 12], failing, endpoint })).toContain(`not served over IPv4 at 192.0.2.1: ${sentence}`);
});

test('a failure has no age when its node was not asked', () => {
  expect(line({ answered: [12, 12], failing: refuses, endpoint: { refused: ago(145) }, isSilent: true })).toContain('are refused.');
});
