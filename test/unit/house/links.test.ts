import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { sourceFiles } from '../../../scripts/source-files.ts';
import { anchorsOf } from '../../../scripts/site/anchors.ts';
import { deadLinks, linksOf } from '../../../scripts/site/links.ts';
import { navigationOf } from '../../../scripts/site/navigation.ts';
import { readPages } from '../../../scripts/site/pages.ts';

const root = join(import.meta.dirname, '../../..');
const pages = readPages(root);

test('every link of a page leads to an existing file, and to an existing heading', () => {
  expect(pages.length).toBeGreaterThan(100);
  expect(pages.flatMap((page) => linksOf(page)).length).toBeGreaterThan(1000);
  expect(deadLinks(root, pages)).toEqual([]);
});

test('every page that a program, a manifest or a script names exists', () => {
  const files = [
    ...sourceFiles(),
    ...globSync(['{scripts,bin}/**/*.{ts,sh}', 'manifests/**/*.{yaml,json}', 'Containerfile'], { cwd: root }),
  ];
  const named = files.flatMap((file) =>
    [...readFileSync(join(root, file), 'utf8').matchAll(/\bdocs\/[\w/-]+\.(?:md|svg|json)\b/g)].map(([path]) => ({ file, path })),
  );
  expect(named.length).toBeGreaterThan(50);
  expect(named.filter(({ path }) => !existsSync(join(root, path)))).toEqual([]);
});

describe('the check of links', () => {
  const dead = (link: string): readonly string[] =>
    deadLinks(root, [
      { path: 'docs/features.md', text: `# X\n\n## A \`b\`: c, d\n\n${link}\n` },
      { path: 'docs/how-to/install.md', text: '# Install\n\n## With Helm\n' },
    ]);

  test.each([
    '[a](how-to/install.md)',
    '[`a`](how-to/install.md#with-helm)',
    '[a](#a-b-c-d)',
    '![a](images/demo.svg)',
    '[a](../examples/fabric)',
    '[a](https://example.org/none)',
    '`[a](none.md)`',
    '```sh\n[a](none.md)\n```',
  ])('accepts %s', (link) => {
    expect(dead(link)).toEqual([]);
  });

  test.each([
    ['[a](none.md)', 'no such file'],
    ['`x` [`a`](none.md)', 'no such file'],
    ['[a](../../outside.md)', 'no such file'],
    ['[a](how-to/install.md#with-kustomize)', 'no such heading'],
    ['[a](#a-b)', 'no such heading'],
  ])('names %s: %s', (link, problem) => {
    expect(dead(link)).toEqual([expect.stringContaining(problem)]);
  });

  test('headings have the anchors that GitHub gives them', () => {
    const text =
      '# IPv4 & IPv6\n## `herald explain`, or plan\n## 2. With [Helm](x.md)\n## Same\n## Same\n<a id="bgp-001"></a>\n```sh\n# no\n```\n';
    expect([...anchorsOf(text)].toSorted()).toEqual(['2-with-helm', 'bgp-001', 'herald-explain-or-plan', 'ipv4--ipv6', 'same', 'same-1']);
  });
});

describe('the navigation of the site', () => {
  const groups = navigationOf(pages);

  test('has every page once', () => {
    const links = groups.flatMap(({ items }) => items.map(({ link }) => link));
    expect(links.length).toBe(pages.length);
    expect(new Set(links).size).toBe(pages.length);
  });

  test('takes the titles from the pages', () => {
    const items = new Map(groups.flatMap(({ items }) => items.map(({ link, text }) => [link, text])));
    expect(items.get('/docs/how-to/install.html')).toBe('Install Herald in a cluster');
    expect(items.get('/docs/adr/0015-an-api-without-conversion.html')).toBe('15. The API changes without a conversion webhook');
  });

  test('begins with the index of each folder', () => {
    expect(groups.find(({ text }) => text === 'How-to')?.items[0]?.link).toBe('/docs/how-to/index.html');
  });
});
