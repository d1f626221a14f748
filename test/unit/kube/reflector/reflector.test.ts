import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { limits } from '../../../../src/kube/limits.ts';
import { refuse, type Fault } from '../fake-api-server.ts';
import { formats, path, ReflectorBench } from './reflector-bench.ts';

let bench: ReflectorBench;

describe.each(formats)('in %s', (format) => {
  beforeEach(async () => {
    bench = await ReflectorBench.over(format);
  });

  afterEach(() => bench.stop());

  /** A list fails in the same ways whether it is streamed or paged. */
  const ways = [
    { way: 'streamed', streamsLists: true },
    { way: 'in pages', streamsLists: false },
  ];

  describe.each(ways)('a list $way', ({ streamsLists }) => {
    beforeEach(() => {
      bench.server.streamsLists = streamsLists;
    });

    test('changes follow the list', async () => {
      await bench.watching();
      expect(bench.names).toBe('abc');
      bench.server.put(path, 'd');
      bench.server.put(path, 'a', { spec: 'other' });
      bench.server.remove(path, 'b');
      await bench.until('b is gone', () => bench.names === 'acd');
      expect(bench.held.get('a')?.['spec']).toBe('other');
      expect(bench.told.filter((one) => one === 'complete')).toHaveLength(1);
    });

    test('an empty list is complete', async () => {
      for (const name of ['a', 'b', 'c']) bench.server.remove(path, name);
      await bench.watching();
      expect(bench.names).toBe('');
    });

    test.each([500, 503, 429, 403, 401])('a list answered %i is retried until it succeeds', async (status) => {
      const fault: Fault = (response) => refuse(response, status, 'not now');
      bench.server.next(...Array.from({ length: 6 }, () => fault));
      bench.run();
      await bench.untilLater('it is complete', () => bench.told.includes('complete'));
      expect(bench.names).toBe('abc');
      expect(bench.told.filter((one) => one.startsWith('trouble'))).toHaveLength(1);
      expect(bench.told).toContain('works');
      expect(bench.expired).toBe(status === 401 ? 6 : 0);
    });

    test('a list without a response is retried until it succeeds', async () => {
      const reset: Fault = (response) => response.socket?.resetAndDestroy();
      bench.server.next(reset, reset, reset);
      bench.run();
      await bench.untilLater('it is complete', () => bench.told.includes('complete'));
      expect(bench.told[0]).toBe('trouble unreachable');
      expect(bench.names).toBe('abc');
    });

    test.each<[string, Fault]>([
      [
        'ends in the middle',
        (response) => stream(response, '{"type":"ADDED","object":{"metadata":{"name":"a","resourceVersion":"1"}}}\n{"type":"ADD'),
      ],
      [
        'ends before its end is said',
        (response) => stream(response, '{"type":"ADDED","object":{"metadata":{"name":"a","resourceVersion":"1"}}}\n'),
      ],
      ['is no JSON', (response) => stream(response, '<html>503 Service Unavailable</html>\n')],
      ['is JSON, but no list', (response) => stream(response, '{"kind":"Surprise"}\n')],
      ['has objects without names', (response) => stream(response, '{"type":"ADDED","object":{"metadata":{}}}\n')],
      [
        'breaks off with its connection',
        (response) => {
          response.writeHead(200).write('{"type":"ADDED","object":{"meta');
          setImmediate(() => response.socket?.resetAndDestroy());
        },
      ],
    ])('a list that %s is read again', async (_, fault) => {
      bench.server.next(fault, fault);
      bench.run();
      await bench.untilLater('it is complete', () => bench.told.includes('complete'));
      expect(bench.names).toBe('abc');
      expect(bench.told.filter((one) => one.startsWith('trouble'))).not.toEqual([]);
    });

    test('a list that never arrives is abandoned and retried', async () => {
      bench.server.next(() => undefined);
      bench.run();
      await bench.until('it was asked for', () => bench.server.requests.length === 1);
      await bench.untilLater('it is complete', () => bench.told.includes('complete'));
      expect(bench.told[0]).toBe('trouble stalled');
      expect(bench.names).toBe('abc');
    });

    test('an expired list (410) is read again, and only the difference is reported', async () => {
      await bench.watching();
      bench.told.length = 0;
      bench.server.silently(() => {
        bench.server.remove(path, 'b');
        bench.server.put(path, 'd');
      });
      bench.server.compact();
      bench.server.endWatches();
      await bench.untilLater('d is there', () => bench.names === 'acd');
      expect(bench.told.filter((one) => one.startsWith('-'))).toEqual(['-b']);
      // The reflector reports objects again; objects that stayed were never reported deleted.
      expect(bench.told.indexOf('-b')).toBeGreaterThan(bench.told.indexOf('+d'));
      expect(bench.counted.get('failed gone')).toBe(1);
      expect(bench.counted.get('listed')).toBe(2);
    });
  });

  test('the observer counts lists, watch events and the end', async () => {
    await bench.watching();
    bench.server.put(path, 'd');
    bench.server.remove(path, 'b');
    await bench.until('b is gone', () => bench.names === 'acd');
    await bench.stop();
    expect(Object.fromEntries(bench.counted)).toEqual({ 'heard present': 4, 'heard bookmark': 1, listed: 1, 'heard gone': 1, ended: 1 });
    bench = await ReflectorBench.over(format);
  });

  describe('a list', () => {
    test('a list is streamed in one request with the watch when the server can', async () => {
      await bench.watching();
      expect(bench.server.requests).toEqual(['stream']);
    });

    test('a list comes in pages after the server refused to stream', async () => {
      bench.server.streamsLists = false;
      await bench.watching();
      expect(bench.server.requests).toEqual(['stream', 'list', 'more', expect.stringMatching(/^watch/)]);
      bench.server.silently(() => bench.server.put(path, 'd'));
      bench.server.compact();
      bench.server.endWatches();
      await bench.untilLater('it was listed again', () => bench.told.filter((one) => one === 'complete').length === 2);
      expect(bench.server.requests.filter((one) => one === 'stream')).toHaveLength(1);
    });

    test('a list comes in pages when an old server ignores the streaming options', async () => {
      bench.server.next((response) => {
        response.writeHead(200);
        response.write('{"type":"ADDED","object":{"metadata":{"name":"a","resourceVersion":"1"}}}\n');
        response.write('{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"1"}}}\n');
      });
      await bench.watching();
      expect(bench.server.requests.slice(0, 3)).toEqual(['stream', 'list', 'more']);
      expect(bench.names).toBe('abc');
    });

    test('a streamed list with a line beyond the bound is read in pages once', async () => {
      bench.server.next((response) => {
        response.writeHead(200);
        const write = (left: number): void => {
          if (left > 0) response.write('x'.repeat(1024 * 1024), () => write(left - 1));
        };
        write(limits.lineBytes / 1024 / 1024 + 1);
      });
      bench.run();
      await bench.untilLater('it is complete', () => bench.told.includes('complete'));
      expect(bench.server.requests.slice(0, 2)).toEqual(['stream', 'list']);
    });

    test('a list whose pages expire midway starts again', async () => {
      bench.server.streamsLists = false;
      bench.server.next(
        (response) => refuse(response, 422, 'no WatchList'),
        (response) =>
          stream(
            response,
            JSON.stringify({
              metadata: { resourceVersion: '5', continue: '2' },
              items: [{ metadata: { name: 'zombie', resourceVersion: '5' } }],
            }),
          ),
        (response) => refuse(response, 410, 'the provided continue parameter is too old'),
      );
      bench.run();
      await bench.untilLater('it is complete', () => bench.told.includes('complete'));
      expect(bench.names).toBe('abc');
    });

    test('a compressed list is read', async () => {
      bench.server.streamsLists = false;
      bench.server.compresses = true;
      await bench.watching();
      expect(bench.names).toBe('abc');
    });

    test('a list with broken compression is read again', async () => {
      bench.server.streamsLists = false;
      bench.server.next(
        (response) => refuse(response, 422, 'no WatchList'),
        (response) => response.writeHead(200, { 'Content-Encoding': 'gzip' }).end('this is no gzip'),
      );
      bench.run();
      await bench.untilLater('it is complete', () => bench.told.includes('complete'));
      expect(bench.names).toBe('abc');
    });
  });

  describe('a watch', () => {
    test('a watch that the server ends is resumed at its version', async () => {
      await bench.watching();
      bench.clock.advance(limits.healthyMilliseconds);
      bench.server.endWatches();
      await bench.until('it watches again', () => bench.server.watchers === 1);
      expect(bench.server.requests).toEqual(['stream', `watch ${bench.server.version}`]);
      expect(bench.told.filter((one) => one.startsWith('trouble'))).toEqual([]);
    });

    test('a watch that is reset is resumed at its version and misses nothing', async () => {
      await bench.watching();
      bench.server.resetConnections();
      bench.server.put(path, 'd');
      await bench.untilLater('d is there', () => bench.names === 'abcd');
      expect(bench.server.requests.filter((one) => one === 'stream')).toHaveLength(1);
      expect(bench.told.filter((one) => one.startsWith('-'))).toEqual([]);
    });

    test('a watch resumes after the bookmark, so that a quiet kind does not expire', async () => {
      await bench.watching();
      bench.server.put('/api/v1/others', 'x');
      bench.server.bookmark(path);
      // Events sent before the end arrive before the end.
      bench.server.endWatches();
      await bench.untilLater('it watches again', () => bench.server.requests.length > 1 && bench.server.watchers === 1);
      expect(bench.server.requests.at(-1)).toBe(`watch ${bench.server.version}`);
    });

    test.each([401, 403, 429, 500, 503])('a watch answered %i is retried, and no object is dropped', async (status) => {
      await bench.watching();
      const fault: Fault = (response) => refuse(response, status, 'not now');
      bench.server.next(fault, fault, fault);
      bench.server.resetConnections();
      await bench.untilLater('it watches again', () => bench.server.watchers === 1);
      expect(bench.names).toBe('abc');
      expect(bench.server.requests.filter((one) => one === 'stream')).toHaveLength(1);
      expect(bench.told.filter((one) => one.startsWith('-'))).toEqual([]);
    });

    test('a watch that a server refuses repeatedly is replaced by a list', async () => {
      await bench.watching();
      const fault: Fault = (response) => refuse(response, 504, 'Too large resource version');
      bench.server.next(...Array.from({ length: limits.refusalsBeforeList }, () => fault));
      bench.server.resetConnections();
      await bench.untilLater('it watches again', () => bench.server.watchers === 1);
      expect(bench.server.requests.filter((one) => one === 'stream')).toHaveLength(2);
    });

    test('a watch whose version is refused at once (410) is replaced by a list', async () => {
      await bench.watching();
      bench.server.next((response) => refuse(response, 410, 'too old resource version'));
      bench.server.resetConnections();
      await bench.untilLater('it watches again', () => bench.server.watchers === 1);
      expect(bench.server.requests.filter((one) => one === 'stream')).toHaveLength(2);
    });

    test.each([
      ['is cut off', '{"type":"MODIFIED","obj'],
      ['is no JSON', 'Internal Server Error\n'],
      ['is no event', '{"type":"SURPRISE"}\n'],
      ['is an object without a version', '{"type":"MODIFIED","object":{"metadata":{"name":"a"}}}\n'],
      ['has a version that is no text', '{"type":"MODIFIED","object":{"metadata":{"name":"a","resourceVersion":7}}}\n'],
    ])('a watch with a line that %s is replaced by a list in pages', async (_, line) => {
      await bench.watching();
      bench.server.say(path, line);
      bench.server.endWatches();
      await bench.untilLater('it was listed again', () => bench.told.filter((one) => one === 'complete').length === 2);
      expect(bench.server.requests.slice(1, 3)).toEqual(['list', 'more']);
      expect(bench.names).toBe('abc');
    });

    test('a watch with a line beyond the bound keeps its objects and lists again', async () => {
      await bench.watching();
      for (let i = 0; i <= limits.lineBytes / 1024 / 1024; i++) bench.server.say(path, 'x'.repeat(1024 * 1024));
      await bench.untilLater('it was listed again', () => bench.told.filter((one) => one === 'complete').length === 2);
      expect(bench.told.filter((one) => one.startsWith('-'))).toEqual([]);
    });

    test('a watch that arrives byte by byte is read', async () => {
      await bench.watching();
      for (const byte of bench.event('ADDED', { metadata: { name: 'ü', resourceVersion: '900' } })) {
        bench.server.say(path, Buffer.from([byte]));
        await new Promise(setImmediate);
      }
      await bench.until('ü is there', () => bench.held.has('ü'));
    });

    test('a silent watch is abandoned, however alive its connection is', async () => {
      await bench.watching();
      bench.server.silently(() => bench.server.put(path, 'd'));
      bench.clock.advance(limits.silenceMilliseconds - 1);
      await bench.until('nothing', () => true);
      expect(bench.names).toBe('abc');
      bench.clock.advance(1);
      await bench.untilLater('d is there', () => bench.names === 'abcd');
      expect(bench.server.requests.filter((one) => one.startsWith('watch'))).toHaveLength(1);
    });

    test('a watch that drips bytes of an endless line is abandoned', async () => {
      await bench.watching();
      for (let waited = 0; waited <= limits.silenceMilliseconds; waited += 10_000) {
        bench.server.say(path, ' ');
        await new Promise((resolve) => setTimeout(resolve, 1));
        bench.clock.advance(10_000);
      }
      await bench.untilLater('it watches anew', () => bench.server.requests.length > 1 && bench.server.watchers === 1);
    });

    test('a quiet watch with bookmarks is kept', async () => {
      await bench.watching();
      for (let minute = 0; minute < 10; minute++) {
        bench.clock.advance(75_000);
        const seen = bench.told.length;
        bench.server.bookmark(path);
        // The change follows the bookmark, so its arrival proves the bookmark's.
        bench.server.put(path, 'a', { minute });
        await bench.until('the change is there', () => bench.told.length > seen);
      }
      expect(bench.server.requests).toEqual(['stream']);
    });

    test('a watch that ends at once each time is retried with pauses', async () => {
      const end: Fault = (response) => response.writeHead(200).end();
      await bench.watching();
      bench.server.next(end, end, end);
      bench.server.endWatches();
      let turns = 0;
      await bench.until('many turns have passed', () => ++turns > 50);
      expect(bench.server.requests.length).toBeLessThan(3);
      await bench.untilLater('it watches again', () => bench.server.watchers === 1);
    });
  });

  describe('pauses', () => {
    test('a pause is at least what the API server asks for', async () => {
      bench.server.next((response) => refuse(response, 429, 'too many', { 'Retry-After': '17' }));
      bench.run();
      await bench.until('it heard the refusal', () => bench.told.includes('trouble busy'));
      bench.clock.advance(16_999);
      await new Promise((resolve) => setTimeout(resolve, 20));
      expect(bench.server.requests).toHaveLength(1);
      bench.clock.advance(2_000);
      await bench.until('it is complete', () => bench.told.includes('complete'));
    });

    test('pauses grow up to their bound', async () => {
      const fault: Fault = (response) => refuse(response, 500, 'broken');
      bench.server.next(...Array.from({ length: 20 }, () => fault));
      bench.run();
      const asked: number[] = [];
      await bench.until('it was asked for often', () => {
        if (bench.server.requests.length > asked.length) asked.push(bench.clock.now());
        else bench.clock.advance(500);
        return asked.length > 15;
      });
      const pauses = asked.map((at, index) => at - (asked[index - 1] ?? at)).slice(1);
      expect(pauses[0]).toBeLessThan(3_000);
      expect(Math.max(...pauses.slice(-5))).toBeGreaterThan(limits.retryMaximumMilliseconds / 2);
    });
  });

  describe('a kind that the API server does not have', () => {
    beforeEach(() => bench.server.absent.add(path));

    test('an optional missing kind has no objects until it exists', async () => {
      bench.run({ optional: true });
      await bench.until('it is complete', () => bench.told.includes('complete'));
      expect(bench.names).toBe('');
      expect(bench.told.filter((one) => one.startsWith('trouble'))).toEqual([]);
      bench.server.absent.clear();
      await bench.untilLater('the objects are there', () => bench.names === 'abc');
    });

    test('a required missing kind is an error', async () => {
      bench.run();
      await bench.until('it says so', () => bench.told.includes('trouble notFound'));
      expect(bench.told).not.toContain('complete');
    });

    test('the next look comes after one to one and a half intervals, so that agents do not look together', async () => {
      bench.run({ optional: true });
      const asked: number[] = [];
      await bench.until('it was looked for often', () => {
        if (bench.server.requests.length > asked.length) asked.push(bench.clock.now());
        else bench.clock.advance(1_000);
        return asked.length > 5;
      });
      const shares = asked.map((at, index) => (at - (asked[index - 1] ?? at)) / limits.absentMilliseconds).slice(1);
      // The clock may advance a little while a request is on its way.
      expect(Math.min(...shares)).toBeGreaterThanOrEqual(1);
      expect(Math.max(...shares)).toBeGreaterThan(1.2);
      expect(Math.max(...shares)).toBeLessThan(2);
      expect(Math.max(...shares) - Math.min(...shares)).toBeGreaterThan(0.1);
    });

    test('a kind keeps its objects until it stays missing', async () => {
      bench.server.absent.clear();
      await bench.watching({ optional: true });
      bench.server.absent.add(path);
      bench.server.endWatches();
      await bench.untilLater('it was looked for twice', () => bench.server.requests.length === 3);
      expect(bench.names).toBe('abc');
      await bench.untilLater('it is given up', () => bench.names === '');
      expect(bench.server.requests).toHaveLength(1 + limits.absentLooks);
    });
  });

  test('stopping leaves no timer or connection', async () => {
    await bench.watching();
    const { clock } = bench;
    await bench.stop();
    expect(clock.pending).toBe(0);
    bench = await ReflectorBench.over(format);
  });
});

function stream(response: ServerResponse, text: string): void {
  response.writeHead(200, { 'Content-Type': 'application/json' }).end(text);
}
