import fc from 'fast-check';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { decodeDocuments } from '../../../../../src/sources/directory/decode/documents.ts';
import { decodeFully } from '../../../../../src/sources/directory/decode/full-yaml.ts';
import { decodePlainDocument } from '../../../../../src/sources/directory/decode/plain-document.ts';
import { runs } from '../../../../support/property.ts';

const root = join(import.meta.dirname, '../../../../..');

/** Fails when the text is decoded quickly and the full parser finds an error, another value, or another place. Returns the value. */
function quicklyAsFully(text: string): unknown {
  const plain = decodePlainDocument(text);
  if (plain === undefined) return undefined;
  const [full, ...more] = decodeFully(text);
  expect(more).toEqual([]);
  expect(full?.errors).toEqual([]);
  expect(plain.raw).toStrictEqual(full?.raw);
  expect(plain.at).toEqual(full?.locate([]));
  for (const [index, at] of plain.items.entries()) expect(at).toEqual(full?.locate(['items', index]));
  return plain.raw;
}

/** Fails when the documents of a file differ from those that the full parser finds. */
function fileAsFully(text: string): void {
  const told = (documents: ReturnType<typeof decodeFully>): unknown[] =>
    documents.map(({ raw, again, errors, locate }) => [
      ...(errors.length === 0 ? [raw, again(), locate([]), locate(['metadata']), locate(['items', 1])] : []),
      errors,
    ]);
  expect(told(decodeDocuments(text, false))).toStrictEqual(told(decodeFully(text)));
}

const words = [
  ...'web true True TRUE tRUE null Null NULL ~ false False FALSE yes No y on NaN .nan .inf 10.0.0.1 10 0 -0 +1 1.5 1. 1.2.3'.split(' '),
  ...'1.2e5 1.2.3e4 007 0x1F 0o7 0b1 1e3 .5 -1 1_000 12345678901234567890 999999999999999 9999999999999999 1e400 12e 1:2'.split(' '),
  ..."1:20:30 2026-01-01 2001:db8::1 10.0.0.0/24 a#b a: \" \"a\" \"a\\n\" ' 'a' 'it''s' it's - -a [] {} { [a] * &a !t | > % @".split(' '),
  ...'` ? , é https://a.b/c?d=e << --- ... /healthz _a = \\ a\\b a,b a] a} a"b a&b a* a! (a) $a __proto__'.split(' '),
  'a: b',
  'a #b',
  '"a" b',
  '- a',
  '--- a',
  '{a: 1}',
  '? a',
  '',
  ' ',
  'a\nb',
  '# a',
  'a\tb',
  'a  b',
];
const word = fc.constantFrom(...words);
const key = fc.constantFrom('kind', 'items', 'a.b/c-d', 'x', 'y', 'null', 'true', '1', '<<', 'a b', '__proto__', 'metadata');
const leaf = fc.oneof(word, fc.boolean(), fc.constant(null), fc.integer(), fc.double({ noNaN: true }));
const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    leaf,
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(key, tie('value'), { maxKeys: 4, noNullPrototype: true }),
  ),
}));
const manifest = fc.dictionary(key, value, { minKeys: 1, maxKeys: 5, noNullPrototype: true });
const written = fc
  .tuple(manifest, fc.constantFrom(2, 4), fc.boolean(), fc.constantFrom('', '---\n', '# comment\n', '\n--- # c\n'))
  .map(
    ([object, indent, indentSeq, before]) => before + stringify(object, { indent, indentSeq, lineWidth: 0, aliasDuplicateObjects: false }),
  );
const pieces = [
  '\n',
  ' ',
  '  ',
  '- ',
  ':',
  ': ',
  '#',
  ' #',
  '"',
  "'",
  'a: 1\n',
  '---\n',
  '...\n',
  '%A\n',
  '{',
  '}',
  '[',
  '\t',
  '\r',
  '&',
  '*a',
];
const edits = fc.array(fc.record({ at: fc.nat(), cut: fc.nat(4), insert: fc.constantFrom('', ...pieces) }), { maxLength: 3 });

function edited(text: string, changes: readonly { readonly at: number; readonly cut: number; readonly insert: string }[]): string {
  return changes.reduce((now, { at, cut, insert }) => {
    const from = at % (now.length + 1);
    return now.slice(0, from) + insert + now.slice(from + cut);
  }, text);
}

/** A line of any form, without the quotes that a program would write. */
const line = fc
  .tuple(fc.nat(3), fc.constantFrom('', '- ', '-  ', '- - '), fc.option(key), word, fc.constantFrom('', '', '', ' ', ' # c', ' b', ':'))
  .map(([depth, hyphen, name, text, after]) => `${'  '.repeat(depth)}${hyphen}${name === null ? '' : `${name}: `}${text}${after}\n`);

describe('decodePlainDocument', () => {
  test('equals the full parser for any lines, and for every word as a value, an element and a key', () => {
    fc.assert(
      fc.property(fc.array(line, { maxLength: 6 }), (lines) => void quicklyAsFully(lines.join(''))),
      { numRuns: runs(5000) },
    );
    for (const text of words)
      for (const form of [`a: ${text}`, `a:\n- ${text}`, `a:\n  - b: ${text}`, `${text}: 1`]) quicklyAsFully(`${form}\n`);
  });

  test('returns what the full parser returns, for any manifest and any edit of it', () => {
    fc.assert(
      fc.property(written, edits, (text, changes) => void quicklyAsFully(edited(text, changes))),
      { numRuns: runs(3000) },
    );
  });

  test('decodes any manifest of plain keys and values', () => {
    const plainKey = fc.constantFrom('kind', 'items', 'a.b/c-d', 'x', 'y', 'metadata');
    const plainLeaf = fc.oneof(
      fc.constantFrom('web', '10.0.0.1', '10', 'fd00:96::a', 'null', 'a#b', ''),
      fc.boolean(),
      fc.constant(null),
      fc.nat(),
    );
    const plain = fc.letrec((tie) => ({
      map: fc.dictionary(plainKey, fc.oneof(plainLeaf, tie('map'), tie('list')), { minKeys: 1, maxKeys: 4, noNullPrototype: true }),
      list: fc.array(fc.oneof({ depthSize: 'small' }, plainLeaf, tie('map')), { maxLength: 4 }),
    })).map;
    fc.assert(
      fc.property(plain, fc.boolean(), (object, indentSeq) => {
        expect(quicklyAsFully(stringify(object, { indentSeq, lineWidth: 0, aliasDuplicateObjects: false }))).toStrictEqual(object);
        expect(quicklyAsFully(JSON.stringify(object))).toStrictEqual(object);
      }),
    );
  });

  test('returns what the full parser returns for compact JSON and any edit of it', () => {
    fc.assert(
      fc.property(manifest, edits, (object, changes) => void quicklyAsFully(edited(JSON.stringify(object), changes))),
      { numRuns: runs(1000) },
    );
  });

  test('decodes a manifest as kubectl writes it', () => {
    const text = [
      'apiVersion: v1',
      'items:',
      '- apiVersion: v1',
      '  kind: Service',
      '  metadata:',
      '    annotations: {}',
      '    creationTimestamp: "2026-01-01T00:00:00Z"',
      '    labels:',
      '      app.kubernetes.io/name: web',
      '    name: web',
      '  spec:',
      '    clusterIPs:',
      '    - 10.96.0.10',
      '    - fd00:96::a',
      '    ports:',
      '    - name: http',
      '      port: 80',
      '      targetPort: 8080',
      '    sessionAffinity: None',
      '  status:',
      '    loadBalancer: {}',
      'kind: List',
      'metadata:',
      '  resourceVersion: ""',
      '',
    ].join('\n');
    expect(quicklyAsFully(text)).toMatchObject({ kind: 'List', items: [{ spec: { ports: [{ name: 'http', port: 80 }] } }] });
    expect(decodePlainDocument(text)?.items).toEqual([{ line: 3, column: 3 }]);
  });

  test.each([
    ['a key that is there twice', 'a: 1\na: 2\n'],
    ['a key of JSON that is there twice', '{"a":1,"a":2}'],
    ['text of several lines', 'a: b\n  c\n'],
    ['a block of text', 'a: |\n  b\n'],
    ['an alias', 'a: &b 1\nc: *b\n'],
    ['a comment behind a value', 'a: 1 # b\n'],
    ['a map in braces', 'a: { b: 1 }\n'],
    ['deep nesting', `${Array.from({ length: 300 }, (_, depth) => `${' '.repeat(depth)}a:`).join('\n')} 1\n`],
    ['nothing', '# only a comment\n'],
    ['a number that is too large', 'a: 1e400\n'],
    ['text behind a list in brackets, which is broken', 'a:\n- []b: 1\n'],
    ['an indented marker before the document, which is broken', ' ---\na: 1\n'],
  ])('leaves %s to the full parser', (_, text) => {
    expect(decodePlainDocument(text)).toBeUndefined();
  });
});

describe('decodeDocuments', () => {
  test('finds the documents, values, places and errors that the full parser finds in the whole file', () => {
    const file = fc.array(written, { minLength: 1, maxLength: 4 }).map((texts) => texts.join('---\n'));
    fc.assert(
      fc.property(file, edits, (text, changes) => fileAsFully(edited(text, changes))),
      { numRuns: runs(150) },
    );
  });

  const examples = globSync(['examples/**/*.{yaml,yml}', 'manifests/**/*.{yaml,yml}', 'test/**/*.{yaml,yml}'], { cwd: root });

  test('finds in every manifest of this repository what the full parser finds', () => {
    expect(examples.length).toBeGreaterThan(50);
    for (const path of examples) fileAsFully(readFileSync(join(root, path), 'utf8'));
  });
});
