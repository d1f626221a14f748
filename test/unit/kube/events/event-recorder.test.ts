import { beforeEach, describe, expect, test } from 'vitest';
import type { Write } from '../../../../src/kube/client/client.ts';
import { answerError, KubeError } from '../../../../src/kube/error.ts';
import { EventRecorder } from '../../../../src/kube/events/event-recorder.ts';
import { limits } from '../../../../src/kube/limits.ts';
import type { ObjectEvent } from '../../../../src/model/objects/object-event.ts';
import type { Log } from '../../../../src/system/log.ts';
import { seededRandom } from '../../../../src/system/random.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';

const regarding = { apiVersion: 'v1', kind: 'Service', namespace: 'shop', name: 'web', uid: 'u1', resourceVersion: '7' };

function event(change: Partial<ObjectEvent> = {}): ObjectEvent {
  return { regarding, type: 'Normal', reason: 'AddressAssigned', action: 'AssignAddress', note: 'It has 192.0.2.1', ...change };
}

const named = (name: string, change: Partial<ObjectEvent> = {}): ObjectEvent =>
  event({ regarding: { ...regarding, name, uid: name }, ...change });

let clock: VirtualClock;
let writes: Write[];
let answers: (KubeError | 'hold')[];
let held: PromiseWithResolvers<undefined>;
let recorder: EventRecorder;
/** Whether more important requests are under way. */
let busy: boolean;
let logged: (readonly [string, string])[];

beforeEach(() => {
  clock = new VirtualClock();
  writes = [];
  answers = [];
  held = Promise.withResolvers();
  const client = {
    write: async (write: Write): Promise<unknown> => {
      writes.push(write);
      const answer = answers.shift();
      if (answer === 'hold') await held.promise;
      else if (answer !== undefined) throw answer;
      return {};
    },
  };
  busy = false;
  recorder = new EventRecorder(
    { client, isBusy: () => busy, clock, random: seededRandom(1), log: recordingLog() },
    { controller: 'herald.dev/controller', instance: 'herald-controller-0' },
  );
});

function recordingLog(): Log {
  logged = [];
  const at = (level: string) => (_: object, message: string) => void logged.push([level, message]);
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

const bodies = (): Record<string, unknown>[] => writes.map(({ body }) => body as Record<string, unknown>);
const names = (): string[] => bodies().map(({ regarding }) => (regarding as { name: string } | undefined)?.name ?? 'a series');

describe('an Event', () => {
  test("an Event has every field that the API requires, in its object's namespace", async () => {
    recorder.record(event());
    await recorder.idle();
    expect(writes[0]).toMatchObject({ method: 'POST', path: '/apis/events.k8s.io/v1/namespaces/shop/events' });
    expect(bodies()[0]).toEqual({
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: { namespace: 'shop', name: expect.stringMatching(/^web\.[0-9a-f]{16}$/) },
      eventTime: '2026-01-01T00:00:00.000000Z',
      reportingController: 'herald.dev/controller',
      reportingInstance: 'herald-controller-0',
      action: 'AssignAddress',
      reason: 'AddressAssigned',
      type: 'Normal',
      note: 'It has 192.0.2.1',
      regarding,
    });
  });

  test('an Event of a cluster-scoped object is stored in the namespace default', async () => {
    recorder.record(event({ regarding: { ...regarding, kind: 'IPAddressPool', namespace: '' } }));
    await recorder.idle();
    expect(writes[0]?.path).toBe('/apis/events.k8s.io/v1/namespaces/default/events');
    expect(bodies()[0]?.['regarding']).not.toHaveProperty('namespace');
  });

  test("an Event respects the API's bounds in octets for any note and name", async () => {
    recorder.record(event({ note: 'é'.repeat(600), regarding: { ...regarding, name: `${'a'.repeat(235)}.${'b'.repeat(17)}` } }));
    await recorder.idle();
    const [{ note, metadata } = {}] = bodies() as { note: string; metadata: { name: string } }[];
    expect(Buffer.byteLength(note ?? '')).toBeLessThanOrEqual(limits.eventNote);
    expect(note).toMatch(/^é+\.\.\.$/);
    expect(metadata?.name.length).toBeLessThanOrEqual(limits.objectName);
    expect(metadata?.name).toMatch(/^a+\.[0-9a-f]{16}$/);
  });
});

describe('repetition', () => {
  test('a repeated Event is a series, written at the second time, then every half hour and at the end', async () => {
    recorder.record(event());
    await recorder.idle();
    clock.advance(1000);
    recorder.record(event());
    await recorder.idle();
    const { name } = (bodies()[0]?.['metadata'] ?? {}) as { name?: string };
    expect(writes[1]).toMatchObject({ method: 'PATCH', path: `/apis/events.k8s.io/v1/namespaces/shop/events/${name}` });
    expect(bodies()[1]).toEqual({ series: { count: 2, lastObservedTime: '2026-01-01T00:00:01.000000Z' } });
    for (let time = 0; time < 3; time++) recorder.record(event());
    await recorder.idle();
    expect(writes).toHaveLength(2);
    clock.advance(limits.eventFinishMilliseconds * 2);
    await recorder.idle();
    expect(bodies()[2]).toMatchObject({ series: { count: 5 } });
    recorder.record(event());
    await recorder.idle();
    expect(writes[3]?.method).toBe('POST');
    expect(bodies()[3]?.['metadata']).not.toEqual({ namespace: 'shop', name });
  });

  test('a running series is written every half hour', async () => {
    for (let minute = 0; minute < 65; minute++) {
      recorder.record(event());
      clock.advance(60_000);
      await recorder.idle();
    }
    expect(writes.map(({ method }) => method)).toEqual(['POST', 'PATCH', 'PATCH', 'PATCH']);
  });

  test('another note makes another Event', async () => {
    recorder.record(event());
    recorder.record(event({ note: 'It has 192.0.2.2' }));
    await recorder.idle();
    expect(writes.map(({ method }) => method)).toEqual(['POST', 'POST']);
  });

  test('a repetition waits while the first Event is being written', async () => {
    answers.push('hold');
    recorder.record(event());
    await new Promise(setImmediate);
    recorder.record(event());
    recorder.record(named('other'));
    await new Promise(setImmediate);
    expect(writes.map(({ method }) => method)).toEqual(['POST', 'POST']);
    held.resolve(undefined);
    await recorder.idle();
    expect(writes.map(({ method }) => method)).toEqual(['POST', 'POST', 'PATCH']);
  });

  test('repetitions before the first write are one write; an expired Event is created again', async () => {
    recorder.record(event());
    recorder.record(event());
    await recorder.idle();
    expect(bodies()[0]).toMatchObject({ reason: 'AddressAssigned', series: { count: 2 } });
    recorder.record(event());
    answers.push(answerError(404, ''));
    clock.advance(limits.eventFinishMilliseconds);
    await recorder.idle();
    expect(writes.map(({ method }) => method)).toEqual(['POST', 'PATCH', 'POST']);
    expect(bodies()[2]).toMatchObject({ reason: 'AddressAssigned', series: { count: 3 } });
  });
});

describe('bounds', () => {
  test('a flapping object gets its burst, then one Event at a time; others are not affected', async () => {
    for (let index = 0; index < 100; index++) recorder.record(event({ note: `time ${index}` }));
    recorder.record(named('other'));
    await recorder.idle();
    expect(writes).toHaveLength(limits.eventBurst + 1);
    expect(recorder.lost.get('budget')).toBe(100 - limits.eventBurst);
    clock.advance(limits.eventTokenMilliseconds);
    for (let index = 100; index < 110; index++) recorder.record(event({ note: `time ${index}` }));
    await recorder.idle();
    expect(writes).toHaveLength(limits.eventBurst + 2);
  });

  test('while the API server does not answer, the queue is bounded and warnings go first', async () => {
    answers.push('hold');
    recorder.record(named('first'));
    await new Promise(setImmediate);
    for (let index = 0; index < limits.eventQueue; index++) recorder.record(named(`n${index}`));
    recorder.record(named('late'));
    recorder.record(named('bad', { type: 'Warning', reason: 'PoolFull' }));
    expect(recorder.lost.get('queue')).toBe(2);
    held.resolve(undefined);
    await recorder.idle();
    expect(names().slice(0, 3)).toEqual(['first', 'bad', 'n1']);
    expect(writes).toHaveLength(limits.eventRateBurst);
    for (let event = limits.eventRateBurst; event <= limits.eventQueue; event++) {
      clock.advance(limits.eventRateMilliseconds);
      await recorder.idle();
    }
    expect(writes).toHaveLength(1 + limits.eventQueue);
  });

  test('while more important requests are under way, few Events are written and none is lost', async () => {
    busy = true;
    const later = async (milliseconds: number): Promise<void> => {
      for (let passed = 0; passed < milliseconds; passed += limits.eventRateMilliseconds) {
        clock.advance(limits.eventRateMilliseconds);
        await recorder.idle();
      }
    };
    for (let index = 0; index < 300; index++) recorder.record(named(`n${index}`));
    await recorder.idle();
    expect(writes).toHaveLength(1);
    await later(10 * limits.eventBusyRateMilliseconds);
    // A token counts in fractions, so the last one may be a moment late.
    expect(writes.length).toBeGreaterThanOrEqual(9);
    expect(writes.length).toBeLessThanOrEqual(11);
    busy = false;
    await later(limits.eventRateMilliseconds);
    expect(writes).toHaveLength(300);
    expect(recorder.lost.size).toBe(0);
  });

  test('recording neither waits nor throws', () => {
    answers.push('hold');
    expect(recorder.record(event())).toBeUndefined();
    expect(writes).toEqual([]);
  });
});

describe('failures', () => {
  test('an Event is retried while the API server is away or busy, a bounded number of times', async () => {
    answers.push(new KubeError('unreachable', ''), answerError(429, '', '5'));
    recorder.record(event());
    for (let second = 0; second < 60; second++) {
      await new Promise(setImmediate);
      clock.advance(1000);
    }
    await recorder.idle();
    expect(writes).toHaveLength(3);
    expect(recorder.lost.size).toBe(0);
    answers.push(...Array.from({ length: limits.eventAttempts }, () => new KubeError('unreachable', '')));
    recorder.record(named('other'));
    for (let second = 0; second < 200; second++) {
      await new Promise(setImmediate);
      clock.advance(1000);
    }
    await recorder.idle();
    expect(recorder.lost.get('unreachable')).toBe(1);
    expect(writes).toHaveLength(3 + limits.eventAttempts);
  });

  test('an Event is retried when the credentials were refused, because they may have changed', async () => {
    answers.push(answerError(401, ''));
    recorder.record(event());
    for (let second = 0; second < 60; second++) {
      await new Promise(setImmediate);
      clock.advance(1000);
    }
    await recorder.idle();
    expect(writes).toHaveLength(2);
    expect(recorder.lost.size).toBe(0);
  });

  test('lost Events are logged at most once a minute', async () => {
    const lose = async (name: string): Promise<void> => {
      answers.push(answerError(422, 'invalid'));
      recorder.record(named(name));
      await recorder.idle();
    };
    await lose('one');
    await lose('two');
    expect(logged).toEqual([['warn', 'Events are lost']]);
    clock.advance(limits.eventLossMilliseconds);
    await lose('three');
    expect(logged).toHaveLength(2);
  });

  test('a refused Event is lost and the next is written', async () => {
    answers.push(answerError(422, 'invalid'));
    recorder.record(event());
    recorder.record(named('other'));
    await recorder.idle();
    expect(names()).toEqual(['web', 'other']);
    expect(recorder.lost).toEqual(new Map([['refused', 1]]));
  });

  test.each([
    ['being deleted', answerError(403, 'forbidden', undefined, { causes: [{ reason: 'NamespaceTerminating' }] })],
    ['gone', answerError(404, 'namespaces "shop" not found', undefined, { kind: 'namespaces', name: 'shop' })],
  ])('an Event is dropped without a warning when its namespace is %s', async (_, refusal) => {
    answers.push(refusal);
    recorder.record(event());
    recorder.record(named('other'));
    await recorder.idle();
    expect(names()).toEqual(['web', 'other']);
    expect(recorder.lost.size).toBe(0);
    expect(logged).toEqual([['debug', 'an Event is dropped: its namespace is deleted']]);
  });

  test('an Event that RBAC forbids is lost, and the log names the fix', async () => {
    answers.push(answerError(403, 'User "system:serviceaccount:x" cannot create resource "events"'));
    recorder.record(event());
    await recorder.idle();
    expect(recorder.lost).toEqual(new Map([['refused', 1]]));
    expect(logged).toEqual([['warn', 'Events are lost']]);
  });

  test('an existing Event counts as written by an attempt whose response was lost', async () => {
    answers.push(answerError(409, 'AlreadyExists'));
    recorder.record(event());
    await recorder.idle();
    expect(recorder.lost.size).toBe(0);
  });

  test('an Event is lost when another process leads', async () => {
    answers.push(new KubeError('notLeading', ''));
    recorder.record(event());
    await recorder.idle();
    expect(writes).toHaveLength(1);
    expect(recorder.lost).toEqual(new Map([['leading', 1]]));
  });

  test('after stop nothing is written and no timer is left', async () => {
    const all = Array.from({ length: limits.eventsAtWork + 1 }, (_, index) => `s${index}`);
    answers.push(...all.map(() => 'hold' as const));
    for (const name of all) recorder.record(named(name));
    await new Promise(setImmediate);
    const stopped = recorder.stop();
    held.resolve(undefined);
    await stopped;
    recorder.record(named('late'));
    expect(names()).toEqual(all.slice(0, limits.eventsAtWork));
    expect(clock.pending).toBe(0);
  });
});
