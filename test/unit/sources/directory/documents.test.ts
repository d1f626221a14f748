import { expect, test } from 'vitest';
import { decodeDocuments } from '../../../../src/sources/directory/documents.ts';

test('positions in a JSON file cost one reading of it, not one each', () => {
  const items = Array.from({ length: 3_000 }, (_, index) => ({ kind: 'Service', metadata: { name: `s${index}` } }));
  const text = `{"items":[\n${items.map((item) => JSON.stringify(item)).join(',\n')}\n]}`;
  const [document] = decodeDocuments(text, true);
  const lines = items.map((_, index) => document?.locate(['items', index]).line);
  expect(lines).toEqual(items.map((_, index) => index + 2));
});
