import { expect, test } from 'vitest';
import { SerialQueue } from '../../../src/lang/serial-queue.ts';

test('work runs one piece after the other, even when a piece fails', async () => {
  const serial = new SerialQueue();
  const order: string[] = [];
  let endFirst: (error: Error) => void = () => undefined;
  const first = serial.run(() => {
    order.push('first');
    return new Promise((_, reject) => (endFirst = reject));
  });
  const second = serial.run(() => {
    order.push('second');
    return Promise.resolve(2);
  });
  await Promise.resolve();
  await Promise.resolve();
  expect(order).toEqual(['first']);
  endFirst(new Error('broken'));
  await expect(first).rejects.toThrow('broken');
  expect(await second).toBe(2);
  expect(order).toEqual(['first', 'second']);
});

test('idle waits for all queued work and does not reject when it fails', async () => {
  const serial = new SerialQueue();
  await serial.idle();
  let done = false;
  serial.run(() => Promise.reject(new Error('broken'))).catch(() => undefined);
  void serial.run(async () => {
    await Promise.resolve();
    done = true;
  });
  await serial.idle();
  expect(done).toBe(true);
});
