import fc from 'fast-check';
import { expect, test } from 'vitest';
import { FifoSet } from '../../../src/lang/fifo-set.ts';

test('a line has the order, the first item and the size of a Set after any steps', () => {
  const step = fc.record({ what: fc.constantFrom('add', 'delete', 'look', 'take', 'clear'), item: fc.nat(5) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const line = new FifoSet<number>();
      const set = new Set<number>();
      for (const { what, item } of steps) {
        const [first] = set;
        if (what === 'look' || what === 'take') expect(line.first()).toBe(first);
        for (const items of [line, set]) {
          if (what === 'add') items.add(item);
          if (what === 'delete') items.delete(item);
          if (what === 'take' && first !== undefined) items.delete(first);
          if (what === 'clear') items.clear();
        }
        expect([...line]).toEqual([...set]);
        expect(line.size).toBe(set.size);
        expect(line.has(item)).toBe(set.has(item));
      }
    }),
  );
});

test('an item that is deleted and added again after a look goes to the end', () => {
  const line = new FifoSet<string>();
  for (const item of ['a', 'b']) line.add(item);
  expect(line.first()).toBe('a');
  line.delete('a');
  line.add('a');
  expect(line.first()).toBe('b');
});
