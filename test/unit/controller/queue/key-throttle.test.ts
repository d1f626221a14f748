import { expect, test } from 'vitest';
import { KeyThrottle } from '../../../../src/controller/queue/key-throttle.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';

test('a key runs at once, then at the end of the interval, however often it is triggered', () => {
  const clock = new VirtualClock();
  const runs: string[] = [];
  const throttle = new KeyThrottle<string>(clock, 1_000, (key) => void runs.push(`${key} ${clock.now()}`));
  clock.advance(5_000);
  throttle.trigger('a');
  clock.advance(400);
  throttle.trigger('a');
  throttle.trigger('a');
  throttle.trigger('b');
  clock.advance(10_000);
  expect(runs).toEqual(['a 5000', 'b 5400', 'a 6000']);
  throttle.trigger('a');
  expect(runs.at(-1)).toBe('a 15400');
});

test('a forgotten key does not run at the end of its interval, and runs at once when it is triggered again', () => {
  const clock = new VirtualClock();
  const runs: number[] = [];
  const throttle = new KeyThrottle<string>(clock, 1_000, () => void runs.push(clock.now()));
  throttle.trigger('a');
  throttle.trigger('a');
  throttle.forgetKey('a');
  clock.advance(500);
  throttle.trigger('a');
  expect(runs).toEqual([0, 500]);
  throttle.trigger('a');
  throttle.stop();
  clock.advance(10_000);
  expect(runs).toEqual([0, 500]);
});
