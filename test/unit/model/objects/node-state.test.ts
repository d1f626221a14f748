import { describe, expect, test } from 'vitest';
import { nodeStateManifest } from '../../../../src/model/status-manifest.ts';
import { currentReport, hostProblemsOf, lapsesAt, reportAge, type NodeState } from '../../../../src/model/objects/node-state.ts';
import { parseObject } from '../../../../src/model/parse.ts';
import { address } from '../../../../src/net/address.ts';
import { prefix } from '../../../../src/net/prefix.ts';
import { conditionText, reason, reasonText } from '../../../../src/model/reasons.ts';

const state: NodeState = {
  kind: 'NodeState',
  metadata: {
    namespace: '',
    name: 'n1',
    uid: '',
    resourceVersion: '',
    labels: {},
    annotations: {},
    creationTimestamp: '',
    deleting: false,
  },
  updated: '2026-01-01T00:00:00Z',
  writer: '5f1a',
  consumed: { Service: '17' },
  sessions: [
    {
      peer: 'tor1',
      address: '192.0.2.1',
      state: 'Idle',
      since: '2026-01-01T00:00:00Z',
      localASN: 1,
      peerASN: 0,
      prefixesSent: 0,
      lastError: '"no"',
      damping: { penalty: 4100, flapsInLastHour: 5, until: '2026-01-01T00:01:00Z' },
    },
    {
      peer: 'tor2',
      address: 'unnumbered on eth1',
      interface: 'eth1',
      state: 'Active',
      since: '2026-01-01T00:00:00Z',
      localASN: 1,
      peerASN: 0,
      prefixesSent: 0,
      damping: { penalty: 900, flapsInLastHour: 1 },
    },
  ],
  differing: [{ service: 'shop/web', aspect: 'Announced', reason: reason('SessionDown', { peer: 'tor1', state: 'Idle', lastError: '' }) }],
  host: [reason('HealthzNotServed', { address: '0.0.0.0:10256', why: 'the port is in use' })],
  heldBack: [
    { family: 'IPv6', since: '2026-01-01T00:00:00Z', settled: true, reason: reason('HealthzNotServed', { address: 'a', why: 'b' }) },
  ],
  drain: { phase: 'Withdrawn', since: '2026-01-01T00:00:00Z', kept: 0, withdrawn: '2026-01-01T00:00:10Z', connections: 7 },
  directReturn: {
    receives: ['link', 'vxlan'],
    passes: ['l2', 'vxlan'],
    networks: [prefix('10.0.0.0/24'), prefix('fd00::/64')],
    linkAddresses: ['02:00:00:00:00:01'],
    interfaces: ['eth0'],
  },
  links: [
    {
      name: 'eth0',
      linkAddress: '02:00:00:00:00:01',
      networks: [prefix('10.0.0.0/24')],
      addresses: [address('10.0.0.1'), address('fe80::1')],
    },
  ],
  claims: [
    { address: '10.0.0.100', number: 3 },
    { address: 'fd00::100', number: 1, givesBack: true },
  ],
};

const read = (raw: unknown): NodeState => {
  const { object, problems } = parseObject(raw);
  expect(problems).toEqual([]);
  if (object?.kind !== 'NodeState') throw new Error('not a NodeState');
  return object;
};

describe('NodeState', () => {
  test('a report survives its manifest and JSON unchanged', () => {
    expect(read(JSON.parse(JSON.stringify(nodeStateManifest(state))))).toEqual(state);
  });

  test('an unknown drain phase from another version is read as Draining', () => {
    const manifest = JSON.parse(JSON.stringify(nodeStateManifest(state))) as { status: { drain: object } };
    manifest.status.drain = { phase: 'Resting', since: '2026-01-01T00:00:00Z' };
    expect(read(manifest).drain).toEqual({ phase: 'Draining', since: '2026-01-01T00:00:00Z', kept: 0 });
  });

  test.each<[string, object]>([
    ['an unknown code', { code: 'Eclipsed', details: { moon: 1 }, message: 'the moon is in the way' }],
    ['details of another shape', { code: 'SessionDown', details: {}, message: 'the moon is in the way' }],
    [
      'details that are objects',
      { code: 'SessionDown', details: { peer: { name: 'x' }, state: 'Idle', lastError: '' }, message: 'the moon is in the way' },
    ],
  ])("a reason with %s is read as UnknownReason with the writer's text", (_what, other) => {
    const manifest = JSON.parse(JSON.stringify(nodeStateManifest(state))) as { status: { differing: { reason: object }[] } };
    for (const difference of manifest.status.differing) difference.reason = other;
    const [difference] = read({ ...manifest, somethingNew: 1 }).differing;
    if (difference === undefined) throw new Error('lost');
    expect(difference.reason.code).toBe('UnknownReason');
    expect(reasonText(difference.reason)).toContain('the moon is in the way');
    expect(conditionText(difference.reason)).not.toBe('');
  });
});

describe('the age of a report', () => {
  const at = (text: string): number => Date.parse(text);
  /** A report of a node whose clock is an hour behind, as the API server stores it. */
  const behind = (managers: readonly object[]): NodeState => {
    const manifest = JSON.parse(JSON.stringify(nodeStateManifest({ ...state, updated: '2026-01-01T00:00:00Z' }))) as { metadata: object };
    return read({ ...manifest, metadata: { ...manifest.metadata, managedFields: managers } });
  };
  const own = { manager: 'herald-agent', operation: 'Apply', subresource: 'status', time: '2026-01-01T01:00:00Z' };
  const others = [
    { manager: 'herald-agent', operation: 'Apply', time: '2026-01-01T02:00:00Z' },
    { manager: 'kubectl', subresource: 'status', time: '2026-01-01T03:00:00Z' },
    { ...own, time: 'noon' },
    7,
  ] as readonly object[];

  test('an agent whose clock is an hour behind is current by the clock of the API server', () => {
    const found = behind([...others, own]);
    expect(reportAge(found, at('2026-01-01T01:00:30Z'))).toBe(30);
    expect(currentReport(new Map([['n1', found]]), 'n1', at('2026-01-01T01:01:30Z'))).toBe(found);
    expect(currentReport(new Map([['n1', found]]), 'n1', at('2026-01-01T01:01:31Z'))).toBeUndefined();
    expect(lapsesAt(found)).toBe(at('2026-01-01T01:01:31Z'));
  });

  test('a process that saw the report arrive counts by its own clock', () => {
    expect(reportAge({ ...behind([own]), received: 5_000 }, 7_000)).toBe(2);
  });

  test('a clock that differs is a problem of the host, and the delay of a write is none', () => {
    expect(hostProblemsOf(behind([own])).map(reasonText)[0]).toContain('the clock of node "n1" is 3600 s behind the API server\'s');
    expect(hostProblemsOf(behind([{ ...own, time: '2025-12-31T23:59:00Z' }]))[0]).toMatchObject({
      code: 'NodeClockSkew',
      details: { seconds: 60, direction: 'ahead of' },
    });
    for (const time of ['2026-01-01T00:00:20Z', '2025-12-31T23:59:50Z'])
      expect(hostProblemsOf(behind([{ ...own, time }]))).toEqual(state.host);
    expect(hostProblemsOf(behind([]))).toEqual(state.host);
  });

  test('the time of its file dates a report in a directory, and shows no wrong clock', () => {
    const manifest: unknown = JSON.parse(JSON.stringify(nodeStateManifest(state)));
    const { object } = parseObject(manifest, { resourceVersion: String(BigInt(at('2026-01-01T01:00:00Z')) * 1_000_000n) });
    if (object?.kind !== 'NodeState') throw new Error('no NodeState');
    expect(reportAge(object, at('2026-01-01T01:00:07Z'))).toBe(7);
    expect(hostProblemsOf(object)).toEqual(state.host);
  });
});
