import { describe, expect, test } from 'vitest';
import { Gathering } from '../../../../src/bfd/transport/linux/gathering.ts';

/** Returns how long `wait(20)` blocked, this many milliseconds after the latest datagrams. */
function blockedAfter(passed: number | undefined, milliseconds = 20): number {
  let now = 1_000;
  const gathering = new Gathering({ now: () => now });
  if (passed !== undefined) gathering.ended();
  now += passed ?? 0;
  const began = performance.now();
  gathering.wait(milliseconds);
  return performance.now() - began;
}

describe('datagrams gather', () => {
  test('while they arrive less than a slot apart', () => {
    expect(blockedAfter(1)).toBeGreaterThan(15);
    expect(blockedAfter(7.4)).toBeGreaterThan(15);
  });

  test.each([
    ['the first datagram', undefined, 20],
    ['a slot or more after the latest', 7.5, 20],
    ['in the same turn of the event loop', 0.05, 20],
    ['when something is due', 1, 0],
    ['when something is late', 1, -3],
  ])('but nothing waits: %s', (_, passed, milliseconds) => {
    expect(blockedAfter(passed, milliseconds)).toBeLessThan(15);
  });
});
