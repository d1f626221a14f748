import { afterEach, beforeEach, expect, test } from 'vitest';
import { protobufType } from '../../../../src/kube/format/protobuf/media-type.ts';
import { limits } from '../../../../src/kube/limits.ts';
import { framed } from '../format/protobuf/encode.ts';
import type { Fault } from '../fake-api-server.ts';
import { path, ReflectorBench } from './reflector-bench.ts';

let bench: ReflectorBench;

beforeEach(async () => {
  bench = await ReflectorBench.over('protobuf');
});

afterEach(() => bench.stop());

const both = 'application/vnd.kubernetes.protobuf,application/json';
const json = 'application/json';
const watchType = { 'Content-Type': `${protobufType};stream=watch` };
const listedTwice = (): boolean => bench.told.filter((one) => one === 'complete').length === 2;

test('a resource with a table is asked for in protobuf, streamed, in pages and watched', async () => {
  bench.server.streamsLists = false;
  await bench.watching();
  expect(bench.server.accepts).toEqual([both, both, both, both]);
  bench.server.put(path, 'd', { spec: 'of d', status: 'is not in the table' });
  await bench.until('d is there', () => bench.names === 'abcd');
  expect(bench.held.get('d')).toMatchObject({ spec: 'of d', metadata: { name: 'd', resourceVersion: bench.server.version } });
  expect(bench.held.get('d')).not.toHaveProperty('status');
});

test('a resource without a table is asked for in JSON', async () => {
  await bench.stop();
  bench = await ReflectorBench.over('JSON');
  await bench.watching();
  expect(bench.server.accepts).toEqual([json]);
});

test('a server that answers in JSON is read in JSON at once, and asked for nothing else from then on', async () => {
  bench.server.tables.clear();
  await bench.watching();
  expect(bench.names).toBe('abc');
  bench.server.endWatches();
  await bench.untilLater('it watches again', () => bench.server.requests.length === 2 && bench.server.watchers === 1);
  expect(bench.server.accepts).toEqual([both, json]);
  expect(bench.told.filter((one) => one.startsWith('trouble'))).toEqual([]);
});

test.each<[string, Buffer]>([
  ['has no magic number', framed(Buffer.from('\n\x05ADDED\x12\x03\n\x01x'))],
  ['has a field that is longer than the frame', framed(Buffer.from('\n\x7fADDED'))],
  ['has a field number of 0', framed(Buffer.from([0x02, 0x00]))],
])('a watch with a frame that %s is listed again, in JSON', async (_, octets) => {
  await bench.watching();
  bench.server.say(path, octets);
  await bench.untilLater('it was listed again', listedTwice);
  expect(bench.server.requests.slice(1, 3)).toEqual(['list', 'more']);
  expect(bench.server.accepts).toEqual([both, ...Array.from({ length: bench.server.requests.length - 1 }, () => json)]);
  expect(bench.names).toBe('abc');
  expect(bench.told.filter((one) => one.startsWith('-'))).toEqual([]);
  expect(bench.counted.get('failed malformed')).toBe(1);
});

test('a page that cannot be read is read again in JSON', async () => {
  bench.server.streamsLists = false;
  const broken: Fault = (response) => response.writeHead(200, { 'Content-Type': protobufType }).end('k8s\0\n\x7f');
  bench.server.next((response) => response.writeHead(422).end(), broken);
  bench.run();
  await bench.untilLater('it is complete', () => bench.told.includes('complete'));
  expect(bench.names).toBe('abc');
  expect(bench.server.accepts.slice(0, 3)).toEqual([both, both, json]);
});

test.each<[string, Fault]>([
  ['ends in the middle of a frame', (response) => response.writeHead(200, watchType).end(Buffer.from([0, 0, 1, 0, 0x0a]))],
  ['ends in the middle of a length', (response) => response.writeHead(200, watchType).end(Buffer.from([0, 0]))],
  [
    'breaks off',
    (response) => void response.writeHead(200, watchType).write(Buffer.from([0, 0, 1]), () => response.socket?.resetAndDestroy()),
  ],
])('a streamed list that %s is asked for in protobuf again', async (_, fault) => {
  bench.server.next(fault);
  bench.run();
  await bench.untilLater('it is complete', () => bench.told.includes('complete'));
  expect(bench.names).toBe('abc');
  expect(new Set(bench.server.accepts)).toEqual(new Set([both]));
});

test('a frame beyond the bound ends the watch before it has arrived', async () => {
  await bench.watching();
  const length = Buffer.alloc(4);
  length.writeUInt32BE(limits.lineBytes + 1);
  bench.server.say(path, length);
  await bench.untilLater('it was listed again', listedTwice);
  expect(bench.counted.get('failed malformed')).toBe(1);
});
