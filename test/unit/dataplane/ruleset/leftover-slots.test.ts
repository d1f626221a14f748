import { expect, test } from 'vitest';
import { elementFromText } from '../../../support/commands/element-from-text.ts';
import { keyText } from '../../../../src/dataplane/ruleset/element-text.ts';
import { ElementList, PackedSet } from '../../../../src/dataplane/ruleset/element-list.ts';
import type { SetName } from '../../../../src/dataplane/ruleset/layout.ts';
import { leftoverSlots } from '../../../../src/dataplane/ruleset/leftover-slots.ts';

/** Returns a packed set of "key : value" lines. */
function packed(set: SetName, ...lines: readonly string[]): PackedSet {
  const elements = lines.map((line) => elementFromText(4, set, ...(line.split(' : ') as [string, string])));
  return ElementList.of(elements).packed(4, set) ?? new PackedSet(4, set);
}

const wanted = packed(
  'backends',
  '10.0.0.1 . tcp . 80 . 0:0 : 10.1.0.1 . 80',
  '10.0.0.2 . tcp . 80 . 0:0 : 10.1.0.1 . 80',
  '10.0.0.2 . tcp . 80 . 0:1 : 10.1.0.2 . 80',
);
const desired = packed('frontends', '10.0.0.1 . tcp . 80 : 1:1', '10.0.0.2 . tcp . 80 : 1:2');
const left = (...present: readonly string[]): string[] => Array.from(ElementList.of(leftoverOf(packed('frontends', ...present))), keyText);

function* leftoverOf(present: PackedSet | undefined) {
  const result = leftoverSlots(wanted, present, desired);
  for (let index = 0; index < result.length; index++) yield result.at(index);
}

test('a frontend of the wanted class leaves nothing', () => {
  expect(left('10.0.0.1 . tcp . 80 : 1:1', '10.0.0.2 . tcp . 80 : 1:2')).toEqual([]);
  expect([...leftoverOf(undefined)]).toEqual([]);
});

test('a frontend that lost a backend leaves the slots beyond the wanted ones', () => {
  expect(left('10.0.0.1 . tcp . 80 : 3:3')).toEqual(['10.0.0.1 . tcp . 80 . 0:1', '10.0.0.1 . tcp . 80 . 0:2']);
});

test('a frontend that is gone leaves all its slots, one without backends none', () => {
  expect(left('10.0.0.9 . tcp . 80 : 1:2', '10.0.0.8 . tcp . 80 : 5:0')).toEqual([
    '10.0.0.9 . tcp . 80 . 0:0',
    '10.0.0.9 . tcp . 80 . 0:1',
  ]);
});

test('the number of slots has two octets', () => {
  expect(left('10.0.0.9 . tcp . 80 : 24:fa1')).toHaveLength(4_001);
});
