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

test.each<[string, unknown]>([
  ['labels:\n  name: &app web\n  *app : on\n', { labels: { name: 'web', web: 'on' } }],
  ['name: &app web\nlist: [{ *app : 1, other: *app }]\n', { name: 'web', list: [{ web: 1, other: 'web' }] }],
])('an alias of a text is a key in %j', (text, raw) => {
  const [document] = decodeDocuments(text, false);
  expect([document?.errors, document?.raw]).toEqual([[], raw]);
});

test.each(['map: &app {a: b}\n*app : on\n', 'number: &app 7\n*app : on\n', '*unknown : on\n'])(
  'a key in %j that is no text is an error',
  (text) => {
    expect(decodeDocuments(text, false)[0]?.errors).not.toEqual([]);
  },
);
