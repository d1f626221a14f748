import { expect, test } from 'vitest';
import {
  notificationStatus,
  PeerClosedError,
  PeerEvents,
  type PeerEvent,
  type StreamedEvent,
} from '../../../../src/bgp/diagnosis/events.ts';
import { maximumQueuedEvents } from '../../../../src/bgp/limits.ts';
import type { NegotiatedStatus } from '../../../../src/bgp/negotiation/open-status.ts';
import { ceaseNotification } from '../../../../src/bgp/wire/notification.ts';

const negotiated = { peerRouterId: '192.0.2.1', holdTime: 9 } as NegotiatedStatus;
const established: PeerEvent = { type: 'established', negotiated };
const refresh = (family: 4 | 6): PeerEvent => ({ type: 'refresh', family });
const at = new Date(0);
const left: PeerEvent = { type: 'state', from: 'Established', to: 'Idle', at };

async function takeAll(stream: AsyncIterable<StreamedEvent>): Promise<StreamedEvent[]> {
  const taken: StreamedEvent[] = [];
  for await (const event of stream) taken.push(event);
  return taken;
}

test('a listener receives only its event type, until it is removed', () => {
  const events = new PeerEvents();
  const received: number[] = [];
  const off = events.on('refresh', ({ family }) => received.push(family));
  events.emit(refresh(4));
  events.emit(established);
  off();
  off();
  events.emit(refresh(6));
  expect(received).toEqual([4]);
});

test('a function registered twice is called twice, and each removal removes one registration', () => {
  const events = new PeerEvents();
  let calls = 0;
  const listener = (): void => void calls++;
  const off = events.on('refresh', listener);
  events.on('refresh', listener);
  events.emit(refresh(4));
  off();
  events.emit(refresh(4));
  expect(calls).toBe(3);
});

test('a listener that throws does not keep the next listener from its event', () => {
  const errors: unknown[] = [];
  const events = new PeerEvents((error) => errors.push(error));
  const received: string[] = [];
  events.on('refresh', () => {
    throw new Error('mine');
  });
  events.on('refresh', () => received.push('second'));
  events.emit(refresh(4));
  expect(received).toEqual(['second']);
  expect(errors).toEqual([new Error('mine')]);
});

test('a stream yields the events after its creation in order, and ends when the peer is removed', async () => {
  const events = new PeerEvents();
  events.emit(refresh(4));
  const stream = events.events();
  events.emit(established);
  events.emit(refresh(6));
  events.close();
  events.emit(refresh(4));
  expect(await takeAll(stream)).toEqual([established, refresh(6)]);
  expect(await takeAll(events.events())).toEqual([]);
});

test('two pending reads of one stream get one event each', async () => {
  const events = new PeerEvents();
  const stream = events.events();
  const taken = Promise.all([stream.next(), stream.next(), stream.next()]);
  events.emit(established);
  events.emit(refresh(4));
  events.close();
  expect((await taken).map(({ value }) => value)).toEqual([established, refresh(4), undefined]);
});

test('a stream without a reader keeps the latest events and reports how many it lost', async () => {
  const events = new PeerEvents();
  const stream = events.events();
  events.emit(established);
  events.emit(left);
  for (let i = 0; i < maximumQueuedEvents; i++) events.emit(refresh(4));
  expect(await stream.next()).toEqual({ done: false, value: { type: 'lost', count: 2 } });
  events.close();
  expect(await takeAll(stream)).toEqual(Array.from({ length: maximumQueuedEvents }, () => refresh(4)));
});

test('a stream counts losses from zero after it reported a loss', async () => {
  const events = new PeerEvents();
  const stream = events.events();
  for (let i = 0; i < maximumQueuedEvents + 3; i++) events.emit(refresh(4));
  expect((await stream.next()).value).toEqual({ type: 'lost', count: 3 });
  events.emit(refresh(6));
  expect((await stream.next()).value).toEqual({ type: 'lost', count: 1 });
});

test('a stream ends when its for-await loop is left', async () => {
  const events = new PeerEvents();
  const stream = events.events();
  events.emit(refresh(4));
  events.emit(refresh(6));
  for await (const event of stream) {
    expect(event).toEqual(refresh(4));
    break;
  }
  expect(stream.done).toBe(true);
  expect(await stream.next()).toEqual({ done: true, value: undefined });
});

test('an aborted signal ends a stream: one read rejects with the reason, later reads return done', async () => {
  const events = new PeerEvents();
  const controller = new AbortController();
  const stream = events.events({ signal: controller.signal });
  const next = stream.next();
  const second = stream.next();
  controller.abort(new Error('enough'));
  await expect(next).rejects.toThrow('enough');
  expect(await second).toEqual({ done: true, value: undefined });
  expect(await stream.next()).toEqual({ done: true, value: undefined });
  await expect(takeAll(events.events({ signal: AbortSignal.abort(new Error('before')) }))).rejects.toThrow('before');
});

test('a signal that aborts after the end of a stream changes nothing', async () => {
  const events = new PeerEvents();
  const controller = new AbortController();
  const stream = events.events({ signal: controller.signal });
  events.emit(refresh(4));
  events.close();
  controller.abort(new Error('late'));
  expect(await takeAll(stream)).toEqual([refresh(4)]);
});

test('established() resolves at once while the session is up, else with the next session', async () => {
  const events = new PeerEvents();
  const first = events.established();
  events.emit(established);
  expect(await first).toBe(negotiated);
  expect(await events.established()).toBe(negotiated);
  events.emit(left);
  const order: string[] = [];
  const second = events.established().then(() => order.push('established'));
  await Promise.resolve();
  order.push('emitted');
  events.emit(established);
  await second;
  expect(order).toEqual(['emitted', 'established']);
});

test('established() rejects when its signal aborts or the peer is closed', async () => {
  const events = new PeerEvents();
  const controller = new AbortController();
  const aborted = events.established({ signal: controller.signal });
  const closed = events.established();
  controller.abort(new Error('enough'));
  await expect(aborted).rejects.toThrow('enough');
  events.close();
  await expect(closed).rejects.toThrow(PeerClosedError);
  await expect(events.established()).rejects.toMatchObject({ code: 'ERR_BGP_PEER_CLOSED' });
  await expect(events.established({ signal: controller.signal })).rejects.toThrow('enough');
});

test('the status of a NOTIFICATION has its numbers, its name and its text', () => {
  expect(notificationStatus('received', ceaseNotification(2, 'maintenance'))).toEqual({
    direction: 'received',
    code: 6,
    subcode: 2,
    name: 'Cease: Administrative Shutdown (6/2)',
    text: 'maintenance',
  });
  expect(notificationStatus('sent', { code: 4, subcode: 0, data: new Uint8Array(0) })).toEqual({
    direction: 'sent',
    code: 4,
    subcode: 0,
    name: 'Hold Timer Expired (4/0)',
  });
});
