import { describe, expect, test } from 'vitest';
import { jsonEvent } from '../../../src/kube/format/json/json-format.ts';
import { namespace } from '../../../src/kube/format/protobuf/kinds/namespace.ts';
import { protobufFormat } from '../../../src/kube/format/protobuf/protobuf-format.ts';
import { byProgramAndVerb, requestsIn, shapeOf } from '../../bench/scale/audit-log.ts';
import { deviations } from '../../bench/scale/comparison.ts';
import { curves, exponent, exponentsOf, pointsOf } from '../../bench/scale/curves.ts';
import { Chunked } from '../../bench/scale/recorded/chunked.ts';
import { ThinFrames } from '../../bench/scale/recorded/thin-frames.ts';
import { ThinStream } from '../../bench/scale/recorded/thin-stream.ts';
import type { Phase, SizeResult } from '../../bench/scale/results.ts';
import { recordedAgentsOf } from '../../bench/scale/size.ts';
import { chart } from '../../bench/scale/svg.ts';
import { encodedObject, encodedStatus, frame } from '../kube/format/protobuf/encode.ts';

/** The parts of bench:scale that decide, or that stand for a part of the agent. */
const line = (type: string, metadata: object): string => `${JSON.stringify({ type, object: { metadata } })}\n`;
const endOfList = line('BOOKMARK', { resourceVersion: '7', annotations: { 'k8s.io/initial-events-end': 'true' } });

const inFrame = (type: string, metadata: object): Buffer => frame(type, encodedObject(namespace, { metadata }));

/** Pushes octets in pieces of a given size. */
function pushed(stream: ThinStream | ThinFrames, octets: string | Buffer, size: number): string {
  const bytes = Buffer.from(octets as string);
  const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) => bytes.subarray(index * size, (index + 1) * size));
  return Buffer.concat(pieces.flatMap((piece) => stream.push(piece))).toString();
}

describe('a thin stream', () => {
  test.each([1, 7, 10_000])('counts events and passes on bookmarks and errors, in pieces of %i octets', (size) => {
    const stream = new ThinStream(false);
    const error = `${JSON.stringify({ type: 'ERROR', object: { code: 410 } })}\n`;
    const bookmark = line('BOOKMARK', { resourceVersion: '12' });
    const text = line('ADDED', { resourceVersion: '10' }) + bookmark + line('MODIFIED', { resourceVersion: '13' }) + error;
    expect(pushed(stream, text, size)).toBe(bookmark + error);
    expect(stream.events).toBe(2);
  });

  test('gives a Reflector the version of the last event, once', () => {
    const stream = new ThinStream(false);
    pushed(stream, line('ADDED', { resourceVersion: '10' }) + line('DELETED', { resourceVersion: '11' }), 5);
    expect(jsonEvent(String(stream.version()))).toEqual({ type: 'bookmark', resourceVersion: '11', complete: false });
    expect(stream.version()).toBeUndefined();
  });

  test('gives no version before the list is complete', () => {
    const stream = new ThinStream(true);
    pushed(stream, line('ADDED', { resourceVersion: '5' }), 100);
    expect(stream.version()).toBeUndefined();
    expect(pushed(stream, endOfList, 100)).toBe(endOfList);
    pushed(stream, line('MODIFIED', { resourceVersion: '9' }), 100);
    expect(String(stream.version())).toContain('"9"');
  });
});

describe('a thin stream of protobuf', () => {
  const event = (stream: ThinFrames) => [
    ...protobufFormat(namespace)
      .eventReader()
      .push(stream.version() ?? Buffer.alloc(0)),
  ];

  test.each([1, 7, 10_000])('counts events and passes on bookmarks and errors, in pieces of %i octets', (size) => {
    const stream = new ThinFrames(false);
    const error = frame('ERROR', encodedStatus(410, 'too old'));
    const bookmark = inFrame('BOOKMARK', { resourceVersion: '12' });
    const [first, second] = [inFrame('ADDED', { resourceVersion: '10' }), inFrame('MODIFIED', { resourceVersion: '13' })];
    expect(pushed(stream, Buffer.concat([first, bookmark, second, error]), size)).toBe(Buffer.concat([bookmark, error]).toString());
    expect(stream.events).toBe(2);
  });

  test('gives a Reflector the version of the last event, once, after the list is complete', () => {
    const stream = new ThinFrames(true);
    pushed(stream, inFrame('ADDED', { resourceVersion: '5' }), 100);
    expect(event(stream)).toEqual([]);
    pushed(stream, inFrame('BOOKMARK', { resourceVersion: '7', annotations: { 'k8s.io/initial-events-end': 'true' } }), 100);
    expect(event(stream)).toEqual([]);
    pushed(stream, Buffer.concat([inFrame('ADDED', { resourceVersion: '8' }), inFrame('DELETED', { resourceVersion: '9' })]), 5);
    expect(event(stream)).toEqual([{ type: 'bookmark', resourceVersion: '9', complete: false }]);
    expect(event(stream)).toEqual([]);
  });
});

test.each([1, 3, 1000])('chunks are decoded in pieces of %i octets, up to the one that ends the body', (size) => {
  const bytes = Buffer.from('5\r\nhello\r\nA\r\n0123456789\r\n0\r\n\r\n');
  const chunked = new Chunked();
  let text = '';
  for (let at = 0; at < bytes.length; at += size) {
    expect(chunked.isComplete).toBe(false);
    chunked.push(bytes.subarray(at, at + size), (part) => void (text += part.toString()));
  }
  expect(text).toBe('hello0123456789');
  expect(chunked.isComplete).toBe(true);
});

const audited = (stage: string, verb: string, code: number, uri: string, userAgent = 'herald-agent/0.1.0'): string =>
  JSON.stringify({
    stage,
    verb,
    userAgent,
    requestURI: uri,
    sourceIPs: ['172.30.16.0'],
    responseStatus: { code },
    requestReceivedTimestamp: '2026-01-01T00:00:00.5Z',
  });

test('a watch counts once in the audit log: when it begins, or when it is refused', () => {
  const lines = [
    audited('ResponseStarted', 'watch', 200, '/api/v1/services?watch=true'),
    audited('ResponseComplete', 'watch', 200, '/api/v1/services?watch=true'),
    audited('ResponseStarted', 'watch', 429, '/api/v1/nodes?watch=true'),
    audited('ResponseComplete', 'watch', 429, '/api/v1/nodes?watch=true'),
    audited('ResponseStarted', 'list', 200, '/api/v1/nodes'),
    audited('ResponseComplete', 'list', 200, '/api/v1/nodes'),
    audited('ResponseComplete', 'patch', 200, '/x', 'kube-proxy/v1.36.2 (linux/amd64)'),
  ];
  expect(Object.fromEntries(byProgramAndVerb(requestsIn(lines)))).toEqual({
    'herald-agent watch': 2,
    'herald-agent list': 1,
    'kube-proxy patch': 1,
  });
});

test('a recorded agent that leaves out a watch, adds one or writes more often deviates', () => {
  const request = (verb: string, uri: string) => requestsIn([audited('ResponseComplete', verb, 200, uri)]);
  const services = (version: number) =>
    request('list', `/api/v1/services?watch=1&resourceVersion=${version}&timeoutSeconds=${300 + version}`);
  const writes = (node: number, count: number) =>
    Array.from({ length: count }, () => request('patch', `/apis/herald.dev/v1alpha1/nodestates/node-${node}/status?force=true`)).flat();
  const real = { agents: 1, requests: [...services(5), ...writes(0, 2)] };
  const two = { agents: 2, requests: [...services(6), ...services(7), ...writes(1, 2), ...writes(2, 3)] };
  expect(deviations(real, two, 0.5)).toEqual([]);
  expect(deviations(real, { agents: 2, requests: [...two.requests, ...writes(2, 2)] }, 0.5)).toMatchObject([{ real: 2, recorded: 3.5 }]);
  expect(deviations(real, { agents: 2, requests: writes(1, 4) }, 0.5)).toMatchObject([{ real: 1, recorded: 0 }]);
  const other = { agents: 2, requests: [...two.requests, ...request('list', '/api/v1/nodes')] };
  expect(deviations(real, other, 0.5)).toEqual([{ request: 'list /api/v1/nodes?', real: 0, recorded: 0.5 }]);
});

test('a list from the cache of the API server is not the same request as a list of a version', () => {
  expect(shapeOf({ verb: 'list', uri: '/x?resourceVersion=0' })).not.toBe(shapeOf({ verb: 'list', uri: '/x?resourceVersion=17' }));
});

test.each([
  [
    'proportional',
    [
      [250, 10],
      [500, 20],
      [1000, 40],
    ],
    1,
  ],
  [
    'quadratic',
    [
      [250, 1],
      [500, 4],
      [1000, 16],
    ],
    2,
  ],
  [
    'constant',
    [
      [250, 7],
      [500, 7],
    ],
    0,
  ],
  ['one point only', [[250, 7]], undefined],
] as const)('the exponent of a %s curve', (_, points, wanted) => {
  const found = exponent(points);
  if (wanted === undefined) expect(found).toBeUndefined();
  else expect(found).toBeCloseTo(wanted, 6);
});

test('a chart has each line with its points, on axes that span them', () => {
  const lines = [
    {
      name: 'agent & co',
      points: [
        [250, 10],
        [500, 20],
      ],
    },
    {
      name: 'kube-proxy',
      points: [
        [250, 30],
        [500, 0],
      ],
    },
  ] as const;
  const drawn = chart({ title: 'Bytes', unit: 'kB/s', lines });
  expect(drawn.match(/<circle/g)).toHaveLength(3);
  expect(drawn).toContain('agent &amp; co');
  expect(drawn).not.toMatch(/NaN|Infinity/);
});

test.each([
  ['all other nodes when no bound is given', undefined, 247],
  ['the bound when there are more nodes', 10, 10],
  ['all other nodes when the bound is larger', 1_000, 247],
])('the recorded agents are %s', (_, mostRecorded, wanted) => {
  expect(recordedAgentsOf({ nodes: 250, realAgents: 2, mostRecorded })).toBe(wanted);
});

describe('the curves', () => {
  const ofAll = curves.filter(({ name }) => /all agents|for Herald/.test(name)).map(({ name }) => name);
  const drawn = (results: readonly SizeResult[]): string[] =>
    curves.filter((curve) => pointsOf(curve, results).length > 0).map(({ name }) => name);

  test('leave out what all agents cost together when some nodes had no agent', () => {
    const results = [sizeResult(250, 10), sizeResult(500, 10)];
    expect(drawn(results)).toEqual(curves.map(({ name }) => name).filter((name) => !ofAll.includes(name)));
    expect(Object.keys(exponentsOf(results)).filter((name) => ofAll.includes(name))).toEqual([]);
  });

  test('have every figure when all agents watched', () => {
    expect(ofAll).toHaveLength(8);
    expect(drawn([sizeResult(250, 247)])).toEqual(curves.map(({ name }) => name));
  });

  test('leave out kube-proxy alone when it failed', () => {
    const result = sizeResult(250, 247);
    const { 'kube-proxy': _, ...clients } = result.churn.clients;
    const { 'kube-proxy': __, ...sliceToRule } = result.churn.sliceToRule;
    const without = { ...result, churn: { ...result.churn, clients, sliceToRule } };
    expect(drawn([without])).toEqual(curves.map(({ name }) => name).filter((name) => !name.includes('kube-proxy')));
  });
});

/** A result of a run with two real agents, in which every figure is one. */
function sizeResult(nodes: number, recordedAgents: number): SizeResult {
  const times = { p50: 1, p99: 1, count: 1 };
  const client = { processes: 1, bytesReceivedPerSecond: 1, bytesSentPerSecond: 1, eventsPerSecond: 1, cpuPercent: 1, rssMegabytes: 1 };
  const names = ['herald-agent', 'herald-agent (recorded)', 'herald-controller', 'kube-proxy'];
  const phase: Phase = {
    seconds: 1,
    apiServerCpuPercent: 2,
    etcdCpuPercent: 1,
    apiServerRssMegabytes: 1,
    requestsPerSecond: { 'herald-agent patch': 1 },
    throttled: 0,
    clients: Object.fromEntries(names.map((name) => [name, client])),
  };
  const reading = { agentSeconds: times, seconds: 1, apiServerCpuSeconds: 1, megabytes: 1, throttled: 0 };
  return {
    nodes,
    services: 10 * nodes,
    endpoints: 100 * nodes,
    realAgents: 2,
    recordedAgents,
    populateSeconds: 1,
    without: { ...phase, apiServerCpuPercent: 1, changesPerSecond: 1 },
    start: { ...reading, realAgentSeconds: 1, realAgentCpuSeconds: 1, agentPeakMegabytes: 1 },
    kubeProxyStart: { seconds: 1, cpuSeconds: 1, peakMegabytes: 1 },
    rest: phase,
    churn: {
      ...phase,
      changesPerSecond: 1,
      changesAsked: 1,
      changesMade: 1,
      changesFailed: 0,
      sliceToRule: { 'herald-agent': times, 'kube-proxy': times },
      nodeStateWritesPerSecond: 1,
    },
    newServices: { ...phase, servicesPerSecond: 1, servicesMade: 1, serviceToRoute: times, nodeStateWritesPerSecond: 1 },
    apiServerRestart: {
      downSeconds: 1,
      watchesOpenAfterSeconds: 1,
      resumed: 1,
      relisted: 1,
      peakRequestsPerSecond: 1,
      spreadSeconds: 1,
      throttled: 0,
      apiServerCpuSeconds: 1,
    },
    leaderChange: { secondsToAddress: 1 },
    rollingUpdate: { ...reading, atOnce: 1, nodeStateWrites: 1 },
    deviations: [],
    tooLarge: false,
  };
}
