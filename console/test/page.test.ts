import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, test } from 'vitest';
import { digestOf, images } from '../../scripts/console-digest.ts';
import { bundleConsole, type ConsoleBundle } from '../../scripts/console-bundle.ts';

const root = join(import.meta.dirname, '../..');
let page: ConsoleBundle;

beforeAll(async () => {
  page = await bundleConsole(root);
});

const contentOf = (name: string): string => page.files.find((file) => file.name === name)?.content ?? '';

describe('the page of the console', () => {
  test('is at most 350 KB compressed', () => {
    const octets = page.files.reduce((sum, { content }) => sum + gzipSync(content).length, 0);
    expect(octets).toBeGreaterThan(10_000);
    expect(octets).toBeLessThan(350_000);
  });

  test('names no other host', () => {
    const named = page.files.flatMap(({ name, content }) =>
      [...content.matchAll(/\b(?:https?:)?\/\/[a-z][\w.-]+\.[a-z]{2,}/gi)].map(([url]) => `${name}: ${url}`),
    );
    // The names of the XML vocabularies, which no browser loads.
    expect(named.filter((url) => !url.endsWith('//www.w3.org'))).toEqual([]);
  });

  test('has no script or style inside HTML, which its policy forbids', () => {
    const html = contentOf('index.html');
    expect(html).toMatch(/<script type="module" src="\/app\.js"><\/script>/);
    expect(html.match(/<script/g)).toHaveLength(1);
    expect(html).not.toMatch(/<style|\sstyle=|\son\w+=/);
  });

  test('makes no markup from text', () => {
    expect(contentOf('app.js')).not.toMatch(/insertAdjacentHTML|document\.write|\beval\(|new Function/);
  });

  test('contains the licences of its parts', () => {
    expect(page.licences).toMatch(/^preact \d/m);
  });

  test('is the same for the same sources', async () => {
    expect(await bundleConsole(root)).toEqual(page);
  });
});

describe('the pictures of the console in docs/images', () => {
  test('show the present page (npm run console:images draws them again)', () => {
    const drawn = JSON.parse(readFileSync(join(root, 'docs/images/console-images.json'), 'utf8')) as object;
    expect(drawn).toEqual({ page: digestOf(page.files) });
  });

  test.each(images)('$name is shown in the guide', ({ name }) => {
    expect(readFileSync(join(root, 'docs/how-to/console.md'), 'utf8')).toContain(`(../images/${name})`);
    expect(
      readFileSync(join(root, 'docs/images', name))
        .subarray(1, 4)
        .toString(),
    ).toBe('PNG');
  });
});
