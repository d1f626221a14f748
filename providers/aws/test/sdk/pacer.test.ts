import { describe, expect, test } from 'vitest';
import { StoppedError } from '../../../../providers/aws/cloud/error.ts';
import type { Operation } from '../../../../providers/aws/cloud/operations.ts';
import { limits } from '../../../../providers/aws/sdk/limits.ts';
import { Pacer } from '../../../../providers/aws/sdk/pacer.ts';
import { withUrgency } from '../../../../providers/aws/cloud/urgency.ts';
import { firstRate } from '../../../../providers/aws/sdk/rates.ts';
import { silentLog, type Log } from '../../../../src/system/log.ts';
import { seededRandom } from '../../../../src/system/random.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';

const throttled = (): Error => Object.assign(new Error('Rate exceeded'), { name: 'Throttling', $metadata: { httpStatusCode: 400 } });
const reset = (): Error => Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' });
const refused = (): Error => Object.assign(new Error('refused'), { code: 'ECONNREFUSED' });

class PacerFixture {
  readonly clock = new VirtualClock();
  readonly stop = new AbortController();
  leads = true;
  readonly #pacer: Pacer;
  /** The time of each request in milliseconds. */
  readonly sent: number[] = [];
  /** The calls of the observer: "waited", or the code of an attempt. */
  readonly counted: string[] = [];

  constructor(log: Log = silentLog, random = seededRandom(1)) {
    const observer = {
      waited: (operation: string) => void this.counted.push(`${operation} waited`),
      attempted: (operation: string, code: string) => void this.counted.push(`${operation} ${code}`),
    };
    this.#pacer = new Pacer({ clock: this.clock, random, log, stopped: this.stop.signal, mayWrite: () => this.leads, observer });
  }

  /** Sends a request that fails with each of `failures` in turn and then succeeds. */
  send(operation: Operation, failures: (() => Error)[] = [], about: object = {}): Promise<string> {
    return this.#pacer.send(operation, about, () => {
      this.sent.push(this.clock.now());
      const failure = failures.shift();
      return failure === undefined ? Promise.resolve('answer') : Promise.reject(failure());
    });
  }

  async advance(milliseconds: number, step = 10): Promise<void> {
    for (let passed = 0; passed < milliseconds; passed += step) {
      this.clock.advance(step);
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}

const thrown = (error: unknown): unknown => error;
const times = <T>(count: number, one: T): T[] => Array.from({ length: count }, () => one);

describe('requests to AWS', () => {
  test('a throttled request is sent again after a random pause, and its action slows down', async () => {
    const bench = new PacerFixture();
    const answer = bench.send('elbv2:CreateListener', [throttled, throttled]);
    await bench.advance(5000);
    await expect(answer).resolves.toBe('answer');
    const [first = 0, second = 0, third = 0] = bench.sent;
    // The bucket was emptied, and its rate halved twice.
    const { perSecond } = firstRate('elbv2:CreateListener');
    expect(second - first).toBeGreaterThan(1000 / (perSecond / 2) - 10);
    expect(third - second).toBeGreaterThan(1000 / (perSecond / 4) - 40);
    const attempt = (code: string): string[] => ['elbv2:CreateListener waited', `elbv2:CreateListener ${code}`];
    expect(bench.counted).toEqual([...attempt('throttled'), ...attempt('throttled'), ...attempt('ok')]);
  });

  test('a request that stays throttled fails after the last attempt', async () => {
    const bench = new PacerFixture();
    const refusal = bench.send('elbv2:DescribeTags', times(100, throttled)).catch(thrown);
    await bench.advance(200_000, 100);
    expect(await refusal).toMatchObject({ name: 'AwsError', code: 'throttled', operation: 'elbv2:DescribeTags' });
    expect(bench.sent).toHaveLength(limits.attempts);
  });

  test('pauses are random, so requests throttled together do not return together', async () => {
    const pauses = await Promise.all(
      [1, 2, 3].map(async (seed) => {
        const bench = new PacerFixture(silentLog, seededRandom(seed));
        void bench.send('ec2:DescribeSubnets', times(4, throttled));
        await bench.advance(20_000, 20);
        return bench.sent.join();
      }),
    );
    expect(new Set(pauses).size).toBe(3);
  });

  test('a read without an answer is sent again', async () => {
    const bench = new PacerFixture();
    const answer = bench.send('elbv2:DescribeListeners', [reset, refused]);
    await bench.advance(3000);
    await expect(answer).resolves.toBe('answer');
    expect(bench.sent).toHaveLength(3);
  });

  test('a write without an answer is not sent again, because it may have taken effect', async () => {
    const bench = new PacerFixture();
    await expect(bench.send('elbv2:CreateListener', [reset])).rejects.toMatchObject({ code: 'unreachable' });
    expect(bench.sent).toHaveLength(1);
  });

  test('a write that was never sent is sent again', async () => {
    const bench = new PacerFixture();
    const answer = bench.send('elbv2:CreateListener', [refused]);
    await bench.advance(3000);
    await expect(answer).resolves.toBe('answer');
  });

  test('a request that AWS refused is not sent again', async () => {
    const bench = new PacerFixture();
    const invalid = (): Error => Object.assign(new Error('no'), { name: 'ValidationError', $metadata: { httpStatusCode: 400 } });
    await expect(bench.send('ec2:DescribeSubnets', [invalid])).rejects.toMatchObject({ code: 'invalid' });
    expect(bench.sent).toHaveLength(1);
  });

  test('actions do not wait for each other', async () => {
    const bench = new PacerFixture();
    const operations = [
      'elbv2:CreateListener',
      'elbv2:CreateLoadBalancer',
      'elbv2:RegisterTargets',
      'elbv2:DeleteListener',
      'elbv2:DescribeTags',
    ] as const;
    for (const operation of operations) {
      const { burst } = firstRate(operation);
      const before = bench.sent.length;
      for (let i = 0; i < burst + 5; i++) void bench.send(operation);
      await new Promise((resolve) => setImmediate(resolve));
      expect(bench.sent.length - before).toBe(burst);
    }
    await bench.advance(10_000);
    // Five requests of each action waited.
    const all = operations.map((operation) => firstRate(operation).burst + 5);
    expect(bench.sent).toHaveLength(all.reduce((sum, one) => sum + one));
  });

  test('a request for a new Service passes those of re-reads that came before it', async () => {
    const bench = new PacerFixture();
    const { burst } = firstRate('elbv2:DescribeListeners');
    const order: string[] = [];
    const send = (urgency: 'new' | 'reread'): void =>
      void withUrgency(urgency, () => bench.send('elbv2:DescribeListeners').then(() => order.push(urgency)));
    for (let index = 0; index < burst + 20; index++) send('reread');
    await bench.advance(10);
    send('new');
    await bench.advance(2000);
    expect(order.indexOf('new')).toBe(burst);
    expect(order).toHaveLength(burst + 21);
  });

  test('waiting requests are refused when Herald stops, and nothing more is sent', async () => {
    const bench = new PacerFixture();
    const retried = bench.send('elbv2:CreateListener', times(20, throttled)).catch(thrown);
    await bench.advance(20);
    const behind = bench.send('elbv2:CreateListener').catch(thrown);
    const sent = bench.sent.length;
    bench.stop.abort('SIGTERM');
    expect(await retried).toBeInstanceOf(StoppedError);
    expect(await behind).toBeInstanceOf(StoppedError);
    await expect(bench.send('ec2:DescribeSubnets')).rejects.toBeInstanceOf(StoppedError);
    expect(bench.sent).toHaveLength(sent);
    expect(bench.clock.pending).toBe(0);
  });

  test('each attempt is logged with its subject, its number and its result', async () => {
    const lines: object[] = [];
    const log: Log = { ...silentLog, debug: (fields, message) => void lines.push({ ...fields, message }) };
    const bench = new PacerFixture(log);
    const answer = bench.send('ec2:DescribeSubnets', [throttled], { GroupId: 'sg-1' });
    await bench.advance(2000);
    await answer;
    expect(lines).toMatchObject([
      { message: 'AWS refused', operation: 'ec2:DescribeSubnets', GroupId: 'sg-1', attempt: 1, code: 'throttled', awsCode: 'Throttling' },
      { message: 'AWS answered', operation: 'ec2:DescribeSubnets', GroupId: 'sg-1', attempt: 2 },
    ]);
  });
});

describe('a controller that has lost its leadership', () => {
  const notLeading = {
    name: 'StoppedError',
    code: 'stopping',
    message: expect.stringContaining('the Lease was not renewed in time') as string,
  };

  test('reads are sent, and writes are refused', async () => {
    const bench = new PacerFixture();
    bench.leads = false;
    await expect(bench.send('ec2:DescribeVpcs')).resolves.toBe('answer');
    await expect(bench.send('ec2:CreateTags')).rejects.toMatchObject(notLeading);
    expect(bench.sent).toHaveLength(1);
  });

  test('a write that waited for its turn is not sent', async () => {
    const bench = new PacerFixture();
    const { burst } = firstRate('elbv2:CreateListener');
    for (let i = 0; i < burst; i++) void bench.send('elbv2:CreateListener');
    const waiting = bench.send('elbv2:CreateListener').catch(thrown);
    await bench.advance(20);
    expect(bench.sent).toHaveLength(burst);
    bench.leads = false;
    await bench.advance(2000);
    expect(await waiting).toMatchObject(notLeading);
    expect(bench.sent).toHaveLength(burst);
  });

  test('a throttled write is not sent again', async () => {
    const bench = new PacerFixture();
    const again = bench.send('elbv2:CreateListener', [throttled]).catch(thrown);
    await bench.advance(20);
    bench.leads = false;
    await bench.advance(5000);
    expect(await again).toMatchObject(notLeading);
    expect(bench.sent).toHaveLength(1);
  });

  test('a waiting write is refused with the reason', async () => {
    const bench = new PacerFixture();
    const waiting = bench.send('elbv2:CreateListener', times(20, throttled)).catch(thrown);
    await bench.advance(20);
    bench.stop.abort(new Error('given up: another controller may lead by now'));
    expect(await waiting).toMatchObject({ code: 'stopping', message: expect.stringContaining('another controller may lead') as string });
    expect(bench.clock.pending).toBe(0);
  });
});
