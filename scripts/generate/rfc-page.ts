import assert from 'node:assert';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { bfd } from '../../src/bfd/test/requirements.ts';
import { bgp } from '../../src/bgp/test/requirements.ts';
import { l2 } from '../../src/l2/test/requirements.ts';
import {
  label,
  type Catalogue,
  type Chapter,
  type Deviation,
  type Requirement,
  type Rfc,
  type Status,
} from '../../test/support/requirement.ts';

/** The catalogues of requirements, in the order of the page. */
export const catalogues: readonly Catalogue[] = [bgp, bfd, l2];

/** A test whose title begins with the requirements that it proves. */
export interface NumberedTest {
  readonly labels: readonly string[];
  /** The title without the labels. */
  readonly name: string;
  /** The path from the root of the repository. */
  readonly file: string;
}

const root = join(import.meta.dirname, '../..');

/** The package of a catalogue: its folder, and what its page is about. */
const packages: Readonly<Record<string, { readonly folder: string; readonly subject: string }>> = {
  BGP: { folder: 'src/bgp', subject: 'a BGP speaker' },
  BFD: { folder: 'src/bfd', subject: 'BFD' },
  L2: { folder: 'src/l2', subject: 'the announcement of addresses by ARP and Neighbor Discovery (L2)' },
};

function opening({ prefix }: Catalogue): string {
  const { folder, subject } = packages[prefix] ?? assert.fail(prefix);
  return `# What ${prefix === 'L2' ? 'ARP and NDP keep' : `${prefix} keeps`} to

This page lists the RFCs and the numbered requirements for ${subject}, each with the tests that prove it. \`npm test -- -t '${prefix}-'\` runs all
of these tests, and a whole number in place of the end those of one requirement. "N 1/2" is a NOTIFICATION with code 1, subcode 2. *partly* names the missing part.

\`npm run generate\` writes this page from \`${folder}/test/requirements.ts\` and the titles of the tests. Edit those, not the page. When two branches
conflict in it, generate it again.
`;
}

/**
 * Returns the numbered titles in the text of a test file: titles of tests and groups, and rows of tables. A number counts only at the start
 * of a string.
 */
export function numberedNames(text: string): Omit<NumberedTest, 'file'>[] {
  const names = text.matchAll(/(['"`])((?:(?:B(?:GP|FD)-\d{3}|L2-\d{1,2}) )+)((?:\\.|(?!\1)[^\\\n])*)\1/g);
  return [...names].map(([, , labels = '', name = '']) => ({
    labels: labels.trim().split(' '),
    name: name.replaceAll(/\\(.)/g, '$1'),
  }));
}

/** Returns every numbered test, in order of files and lines. */
export function numberedTests(): NumberedTest[] {
  return testFiles().flatMap(({ file, text }) => numberedNames(text).map((name) => ({ ...name, file })));
}

/**
 * Returns all TypeScript files in which a numbered title may stand. Tables of cases may have their own files, so names need not end in
 * .test.ts.
 */
export function testFiles(): { readonly file: string; readonly text: string }[] {
  return globSync('{test,src/*/test}/**/*.ts', { cwd: root })
    .filter((file) => !file.startsWith('test/unit/house/') && !file.endsWith('/requirements.ts') && file !== 'test/support/requirement.ts')
    .toSorted()
    .map((file) => ({ file, text: readFileSync(join(root, file), 'utf8') }));
}

/** Returns the reference page of each library: path and text. */
export function requirementPages(tests: readonly NumberedTest[] = numberedTests()): (readonly [path: string, text: string])[] {
  return catalogues.map((catalogue) => {
    const { folder } = packages[catalogue.prefix] ?? assert.fail(catalogue.prefix);
    return [`${folder}/reference.md`, [opening(catalogue), ...catalogueLines(catalogue, tests)].join('\n')];
  });
}

function catalogueLines(catalogue: Catalogue, tests: readonly NumberedTest[]): string[] {
  const { chapters, requirements, rfcs } = catalogue;
  const counts = (['met', 'partly', 'open'] as const).map(
    (kind) => `${requirements.filter(({ status }) => status.kind === kind).length} ${kind}`,
  );
  return [
    `Of ${requirements.length} requirements: ${counts.join(', ')}.`,
    '',
    '| RFC | what | status | extent | requirements |',
    '|---|---|---|---|---|',
    ...rfcs.map((rfc) => rfcRow(catalogue, rfc)),
    '',
    ...chapters.flatMap((chapter) => chapterLines(catalogue, chapter, tests)),
    ...deviationLines(catalogue),
  ];
}

/** Returns the status of an RFC: its own when it has one, otherwise the status of its requirements. */
export function statusOf(catalogue: Catalogue, rfc: Rfc): Status['kind'] {
  if (rfc.status !== undefined) return rfc.status.kind;
  const kinds = new Set(requirementsOf(catalogue, rfc).map(({ status }) => status.kind));
  return kinds.size > 1 || kinds.has('partly') ? 'partly' : kinds.has('met') ? 'met' : 'open';
}

export function requirementsOf({ requirements }: Catalogue, rfc: Rfc): Requirement[] {
  return requirements.filter(({ sources }) => sources.some((source) => source.split(' ')[0] === String(rfc.number)));
}

function rfcRow(catalogue: Catalogue, rfc: Rfc): string {
  const links = requirementsOf(catalogue, rfc).map(({ number }) => `[${number}](#${anchor(catalogue, number)})`);
  const missing = rfc.status?.kind === 'partly' ? `missing: ${rfc.status.missing}` : '';
  const extent = [rfc.extent ?? '', missing].filter((part) => part !== '').join('; ');
  return `| [${rfc.number}](https://www.rfc-editor.org/rfc/rfc${rfc.number}) | ${rfc.title} | ${statusOf(catalogue, rfc)} | ${extent} | ${links.join(' ')} |`;
}

function chapterLines(catalogue: Catalogue, { title, first, last }: Chapter, tests: readonly NumberedTest[]): string[] {
  const rows = catalogue.requirements
    .filter(({ number }) => number >= first && number <= last)
    .map((requirement) => requirementRow(catalogue, requirement, tests));
  return [`## ${title}`, '', '| number | requirement | RFC and section | status | tests |', '|---|---|---|---|---|', ...rows, ''];
}

function requirementRow(catalogue: Catalogue, { number, asserts, sources, status }: Requirement, tests: readonly NumberedTest[]): string {
  const name = label(catalogue, number);
  const proofs = Map.groupBy(
    tests.filter(({ labels }) => labels.includes(name)),
    ({ file }) => file,
  );
  const cells = [...proofs].map(
    ([file, found]) => `[${file.replace(/^test\//, '')}](../../${file}): ${found.map(({ name }) => cell(name)).join('; ')}`,
  );
  const how = status.kind === 'partly' ? `partly: ${cell(status.missing)}` : status.kind;
  return `| <a id="${anchor(catalogue, number)}"></a>${name} | ${cell(asserts)} | ${sources.join('; ')} | ${how} | ${cells.join('<br>')} |`;
}

function deviationLines(catalogue: Catalogue): string[] {
  const { deviations = [] } = catalogue;
  if (deviations.length === 0) return [];
  const row = ({ requirement, source, demands, instead }: Deviation): string =>
    `| [${label(catalogue, requirement)}](#${anchor(catalogue, requirement)}) | ${source} | ${cell(demands)} | ${cell(instead)} |`;
  return [
    '## Where Herald differs from the text',
    '',
    '| requirement | RFC and section | the RFC demands | Herald, and why |',
    '|---|---|---|---|',
    ...deviations.map(row),
    '',
  ];
}

const anchor = (catalogue: Catalogue, number: number): string => label(catalogue, number).toLowerCase();
const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
