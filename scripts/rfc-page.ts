import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { chapters, requirements, rfcs, type Requirement, type Rfc, type Status } from '../test/bgp-requirements.ts';

/** A test that says by its name which requirements it proves. */
export interface NumberedTest {
  readonly numbers: readonly number[];
  /** Without the numbers. */
  readonly name: string;
  /** From the root of the repository. */
  readonly file: string;
}

const root = join(import.meta.dirname, '..');

const opening = `# What the BGP speaker keeps to

The RFCs, then the numbered requirements that stand for what they demand of a speaker that announces and does not learn, each with the
tests that prove it. \`npm test -- -t 'BGP-'\` runs those tests, \`npm test -- -t BGP-041\` those of one requirement.
"N 1/2" is a NOTIFICATION with code 1, subcode 2. *Partly* says what is missing.

This page is written by \`node scripts/write-rfc.ts\` from \`test/bgp-requirements.ts\` and from the names of the tests. Edit those, not the
page; where two branches disagree about it, run the script again.
`;

/**
 * The numbered names in the text of a test file: names of tests, of groups, and rows of tables. A number counts only at the start
 * of a string.
 */
export function numberedNames(text: string): { readonly numbers: readonly number[]; readonly name: string }[] {
  const names = text.matchAll(/(['"`])((?:BGP-\d{3} )+)((?:\\.|(?!\1)[^\\\n])*)\1/g);
  return [...names].map(([, , numbers = '', name = '']) => ({
    numbers: numbers
      .trim()
      .split(' ')
      .map((number) => Number(number.slice('BGP-'.length))),
    name: name.replaceAll(/\\(.)/g, '$1'),
  }));
}

/** Every numbered test of the suites, in order of files and lines. */
export function numberedTests(): NumberedTest[] {
  return testFiles().flatMap(({ file, text }) => numberedNames(text).map((name) => ({ ...name, file })));
}

/** Tables of cases may have a file of their own, so it is not only files named .test.ts. */
export function testFiles(): { readonly file: string; readonly text: string }[] {
  const names = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' });
  return names
    .filter((name) => name.endsWith('.ts') && !name.startsWith(join('unit', 'house')) && name !== 'bgp-requirements.ts')
    .toSorted()
    .map((name) => ({ file: relative(root, join(root, 'test', name)), text: readFileSync(join(root, 'test', name), 'utf8') }));
}

export function rfcPage(tests: readonly NumberedTest[] = numberedTests()): string {
  const counts = (['met', 'partly', 'open'] as const).map(
    (kind) => `${requirements.filter(({ status }) => status.kind === kind).length} ${kind}`,
  );
  return [
    opening,
    `Of ${requirements.length} requirements: ${counts.join(', ')}.`,
    '',
    '## RFCs',
    '',
    '| RFC | what | status | extent | requirements |',
    '|---|---|---|---|---|',
    ...rfcs.map(rfcRow),
    '',
    ...chapters.flatMap((chapter) => chapterLines(chapter, tests)),
  ].join('\n');
}

/** An RFC is as far as its requirements are. */
export function statusOf(rfc: Rfc): Status['kind'] {
  if (rfc.status !== undefined) return rfc.status.kind;
  const kinds = new Set(requirementsOf(rfc).map(({ status }) => status.kind));
  return kinds.size > 1 || kinds.has('partly') ? 'partly' : kinds.has('met') ? 'met' : 'open';
}

export function requirementsOf(rfc: Rfc): Requirement[] {
  return requirements.filter(({ sources }) => sources.some((source) => source.split(' ')[0] === String(rfc.number)));
}

function rfcRow(rfc: Rfc): string {
  const links = requirementsOf(rfc).map(({ number }) => `[${number}](#${anchor(number)})`);
  const missing = rfc.status?.kind === 'partly' ? `missing: ${rfc.status.missing}` : '';
  const extent = [rfc.extent ?? '', missing].filter((part) => part !== '').join('; ');
  return `| [${rfc.number}](https://www.rfc-editor.org/rfc/rfc${rfc.number}) | ${rfc.title} | ${statusOf(rfc)} | ${extent} | ${links.join(' ')} |`;
}

function chapterLines({ title, first, last }: (typeof chapters)[number], tests: readonly NumberedTest[]): string[] {
  const rows = requirements
    .filter(({ number }) => number >= first && number <= last)
    .map((requirement) => requirementRow(requirement, tests));
  return [`## ${title}`, '', '| number | requirement | RFC and section | status | tests |', '|---|---|---|---|---|', ...rows, ''];
}

function requirementRow({ number, asserts, sources, status }: Requirement, tests: readonly NumberedTest[]): string {
  const proofs = Map.groupBy(
    tests.filter(({ numbers }) => numbers.includes(number)),
    ({ file }) => file,
  );
  const cells = [...proofs].map(
    ([file, found]) => `[${file.slice('test/'.length)}](../../${file}): ${found.map(({ name }) => cell(name)).join('; ')}`,
  );
  const how = status.kind === 'partly' ? `partly: ${cell(status.missing)}` : status.kind;
  return `| <a id="${anchor(number)}"></a>${label(number)} | ${cell(asserts)} | ${sources.join('; ')} | ${how} | ${cells.join('<br>')} |`;
}

const label = (number: number): string => `BGP-${String(number).padStart(3, '0')}`;
const anchor = (number: number): string => label(number).toLowerCase();
const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
