import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ElementList, PackedSet } from '../../../../src/dataplane/ruleset/element-list.ts';
import { elementFromText } from '../../../support/commands/element-from-text.ts';
import { PackedIndex } from '../../../../src/dataplane/ruleset/packed-index.ts';

function frontends(numbers: readonly number[], value: string): PackedSet {
  const list = ElementList.of(numbers.map((port) => elementFromText(4, 'frontends', `10.0.0.1 . tcp . ${port}`, value)));
  return list.packed(4, 'frontends') ?? new PackedSet(4, 'frontends');
}

test('an index finds each key at its place, whatever its value, and no other key', () => {
  const port = fc.integer({ min: 1, max: 65_535 });
  fc.assert(
    fc.property(fc.uniqueArray(port, { maxLength: 300 }), fc.uniqueArray(port, { maxLength: 300 }), (here, there) => {
      const index = new PackedIndex(frontends(here, '1:2'));
      const other = frontends(there, '1:3');
      expect(there.map((_, at) => index.find(other, at))).toEqual(there.map((number) => here.indexOf(number)));
    }),
  );
});
