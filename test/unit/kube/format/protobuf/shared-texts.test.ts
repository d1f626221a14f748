import fc from 'fast-check';
import { expect, test } from 'vitest';
import { SharedTexts } from '../../../../../src/kube/format/protobuf/shared-texts.ts';

/** All texts have the same place. */
const onePlace = (): SharedTexts => new SharedTexts(1);

function read(texts: SharedTexts, text: string): string {
  const octets = Buffer.from(`before${text}after`);
  return texts.text(octets, 'before'.length, octets.length - 'after'.length);
}

test('octets of another text with the same place are not taken for it', () => {
  const texts = onePlace();
  // The characters of the first text have the numbers of the octets of the second one.
  for (const text of ['Ã¼', 'ü', 'ab', 'ba', 'abc', 'ab', '', 'a'.repeat(40), 'a'.repeat(41), '日本']) expect(read(texts, text)).toBe(text);
});

test('any sequence of texts is read as it is', () => {
  const few = fc.oneof(fc.constantFrom('a', 'b', 'ab', 'ba'), fc.string({ unit: 'binary', maxLength: 50 }));
  fc.assert(
    fc.property(fc.array(few, { maxLength: 20 }), (sequence) => {
      const texts = onePlace();
      expect(sequence.map((text) => read(texts, text))).toEqual(sequence);
    }),
  );
});
