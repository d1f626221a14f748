import { expect, test } from 'vitest';
import { readCheckLines } from '../../../../../src/cli/commands/check/check-lines.ts';
import { limits } from '../../../../../src/cli/limits.ts';

async function* chunks(...texts: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield Buffer.from(text);
}
const read = (...texts: readonly string[]) => Array.fromAsync(readCheckLines(chunks(...texts)));
const probe = { type: 'probe', what: 'endpoint', protocol: 'TCP', to: '10.244.1.10:8080', result: 'answered' };

test('lines are read across chunks, and other lines are left out', async () => {
  const line = JSON.stringify(probe);
  expect(
    await read(`${line.slice(0, 9)}`, `${line.slice(9)}\nnot JSON\n[]\n{"type":"later"}\n{"type":"toString"}\n{"type":"end","probes":1}\n`),
  ).toEqual([probe, { type: 'end', probes: 1 }]);
});

test.each([
  ['a line without a field', { ...probe, to: undefined }],
  ['hops of another kind', { ...probe, hops: 'x' }],
  ['an escape sequence for the terminal', { ...probe, to: '\u001b[2J' }],
  ['a line break', { type: 'unprobed', what: 'a\nb', why: 'c' }],
  ['a C1 control', { type: 'unprobed', what: 'a', why: '\u009b2J' }],
])('%s is left out', async (_, line) => expect(await read(`${JSON.stringify(line)}\n`)).toEqual([]));

test('quotes and letters of any script are no controls', async () => {
  const line = { type: 'unprobed', what: 'Größe "x" \\ 大', why: 'y' };
  expect(await read(`${JSON.stringify(line)}\n`)).toEqual([line]);
});

test('an answer that is too long is cut', async () => {
  const line = `${JSON.stringify(probe)}\n`;
  const many = line.repeat(Math.ceil(limits.checkAnswerBytes / line.length));
  expect(await read(line, many, line)).toEqual([probe]);
});

test('a line that is too long ends the answer', async () => {
  const line = `${JSON.stringify(probe)}\n`;
  expect(await read(line, `"${'x'.repeat(limits.checkLineBytes)}"\n`, line)).toEqual([probe]);
});
