import { describe, expect, test } from 'vitest';
import { applied, mutantsOf } from '../../../scripts/mutation/mutants.ts';
import { missesGoal, reportText, score } from '../../../scripts/mutation/report.ts';

const mutated = (source: string): string[] => mutantsOf('x.ts', source).map((mutant) => applied(source, mutant));

describe('mutants of a source', () => {
  test.each([
    ['const a = b < c;', ['const a = b <= c;']],
    ['const a = b ?? c;', ['const a = b && c;']],
    ['if (a) b = c;', ['if (true) b = c;', 'if (false) b = c;']],
    ['const a = !b;', ['const a = b;']],
    ['const a = 7;', ['const a = 8;']],
    ['const a = [b];', ['const a = [];']],
    ['const a = b.some(c);', ['const a = b.every(c);']],
    ['const a = b.filter(c);', ['const a = b;']],
    ['this.close();', [';']],
    ["const a = b === 'TCP';", ["const a = b !== 'TCP';", "const a = b === '';"]],
  ])('%s', (source, expected) => {
    expect(mutated(source).toSorted()).toEqual(expected.toSorted());
  });

  test.each([
    "type A = 'b' | 7;",
    "import { a } from './b.ts';",
    "interface A { readonly b: 'c' }",
    'const a = `${b}` + c;',
    "const a = 'a message for people';",
    'assert(a);',
    "log.info({ a }, 'it is done');",
  ])('types, imports and messages have none: %s', (source) => {
    expect(mutated(source)).toEqual([]);
  });

  test('a mutant has the line of its change, and only that place changes', () => {
    const source = 'const a = 1 as const;\n// é and 𝄞 are longer in UTF-8\nconst b = (c as number) > d;\n';
    const [, mutant] = mutantsOf('x.ts', source);
    expect(mutant).toMatchObject({ line: 3, change: '(c as number) > d -> (c as number) >= d' });
    expect(mutant === undefined ? '' : applied(source, mutant)).toBe(source.replace('>', '>='));
  });
});

test('the score counts mutants that a test, compiler or timeout detects, the report lists the others', () => {
  const [mutant] = mutantsOf('src/x.ts', 'const a = b < c;');
  if (mutant === undefined) throw new Error('no mutant');
  const tried = (['killed', 'types', 'timeout', 'survived', 'untested'] as const).map((verdict) => ({ mutant, verdict }));
  const report = { room: 'src', goal: 99, mutants: 100, tried };
  expect(score(report)).toBe(60);
  expect(missesGoal(report)).toBe(false);
  expect(missesGoal({ ...report, mutants: 5 })).toBe(true);
  expect(reportText([report])).toContain('| src | 100 | 5 | 1 | 1 | 1 | 1 | 1 | 60 ± 44 % | 99 % |');
  expect(
    reportText([report])
      .split('\n')
      .filter((line) => line.includes('src/x.ts:1')),
  ).toEqual(['survived: src/x.ts:1: b < c -> b <= c', 'untested: src/x.ts:1: b < c -> b <= c']);
});
