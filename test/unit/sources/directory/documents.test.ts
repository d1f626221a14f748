import { expect, test, vi } from 'vitest';
import { decodeDocuments } from '../../../../src/sources/directory/documents.ts';

test('positions in a JSON file cost one reading of it, not one each', () => {
  const items = Array.from({ length: 3_000 }, (_, index) => ({ kind: 'Service', metadata: { name: `s${index}` } }));
  const text = `{"items":[\n${items.map((item) => JSON.stringify(item)).join(',\n')}\n]}`;
  const [document] = decodeDocuments(text, true);
  const lines = items.map((_, index) => document?.locate(['items', index]).line);
  expect(lines).toEqual(items.map((_, index) => index + 2));
});

test('what is wrong is told as an error of the file, and never as a warning of the process', () => {
  const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  const [document] = decodeDocuments('spec: { { myASN: 64512 } }', false);
  expect(document?.errors.map(({ message }) => message)).toContain('not valid YAML: a key that is not text');
  expect(warned).not.toHaveBeenCalled();
  warned.mockRestore();
});
