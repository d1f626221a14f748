import { expect, test } from 'vitest';
import { SharedValues } from '../../../src/lang/shared-values.ts';

test('equal keys have the same value until there are too many of them', () => {
  const values = new SharedValues<object>(2);
  const make = (): object => ({});
  const first = values.get('a', make);
  expect([values.get('a', make) === first, values.get('b', make) === first]).toEqual([true, false]);
  values.get('c', make);
  expect(values.get('a', make)).not.toBe(first);
});
