import { expect, test, vi } from 'vitest';
import { decodeDocuments } from '../../../../../src/sources/directory/decode/documents.ts';

test('positions in a JSON file cost one parse of it, not one each', () => {
  const items = Array.from({ length: 3_000 }, (_, index) => ({ kind: 'Service', metadata: { name: `s${index}` } }));
  const text = `{"items":[\n${items.map((item) => JSON.stringify(item)).join(',\n')}\n]}`;
  const [document] = decodeDocuments(text, true);
  const lines = items.map((_, index) => document?.locate(['items', index]).line);
  expect(lines).toEqual(items.map((_, index) => index + 2));
});

test('syntax errors are reported as errors of the file, never as process warnings', () => {
  const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  const [document] = decodeDocuments('spec: { { myASN: 64512 } }', false);
  expect(document?.errors.map(({ message }) => message)).toContain('not valid YAML: a key that is not text');
  expect(warned).not.toHaveBeenCalled();
  warned.mockRestore();
});
