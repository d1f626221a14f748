import { spawnSync } from 'node:child_process';
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { homepage } from '../../scripts/homepage.ts';
import { addressOf, readPages } from '../../scripts/site/pages.ts';
import { root } from './follow.ts';

const pages = readPages(root);
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  readonly version: string;
  readonly scripts: Readonly<Record<string, string>>;
};
let folder = '';

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'herald-site-'));
  const words = ['run', 'docs:build', '--', '--outDir', folder];
  // No network: a package that is missing here would be missing on a machine without access to a registry.
  const { status, stdout, stderr } = spawnSync('unshare', ['--net', 'npm', ...words], { cwd: root, encoding: 'utf8' });
  if (status !== 0) throw new Error(`npm run docs:build ended with status ${status}\n${stdout}\n${stderr}`);
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Returns the file that a web server sends for a path of the site, or undefined if it sends an error. */
function sentFor(path: string): string | undefined {
  const file = join(folder, path);
  if (!existsSync(file)) return undefined;
  const sent = statSync(file).isDirectory() ? join(file, 'index.html') : file;
  return existsSync(sent) ? sent : undefined;
}

/** Returns the page to which the file leads a browser. */
function pageBehind(file: string): string {
  const address = /location\.replace\('([^']+)'/.exec(readFileSync(file, 'utf8'))?.[1];
  return address === undefined ? file : join(folder, address);
}

/** The problems that were found, or undefined, by address. The navigation of each page links to all others. */
const found = new Map<string, string | undefined>();

function problemOf(path: string, anchor: string): string | undefined {
  const address = `${path}#${anchor}`;
  if (!found.has(address)) found.set(address, find(path, anchor));
  return found.get(address);
}

function find(path: string, anchor: string): string | undefined {
  const sent = sentFor(path);
  if (sent === undefined) return `${path}: nothing is published there`;
  if (anchor === '') return undefined;
  return readFileSync(pageBehind(sent), 'utf8').includes(`id="${anchor}"`) ? undefined : `${path}: no heading #${anchor}`;
}

describe('the site of the documentation', () => {
  test('every page of the repository is a page of the site, with its title and the version', () => {
    const wrong = pages.filter(({ path }) => {
      const html = readFileSync(join(folder, addressOf(path)), 'utf8');
      return !html.includes(`Version ${manifest.version}`) || !html.includes('<h1 id=');
    });
    expect(wrong.map(({ path }) => path)).toEqual([]);
    expect(pages.length).toBeGreaterThan(100);
  });

  test('every link of a page leads to a page, a file or a heading of the site', () => {
    const dead = pages.flatMap(({ path }) => {
      const address = addressOf(path);
      const links = readFileSync(join(folder, address), 'utf8').matchAll(/<a [^>]*?href="(?!https?:)([^"]*)"/g);
      return [...links].flatMap(([, href = '']) => {
        const { pathname, hash } = new URL(href.replaceAll('&amp;', '&'), `http://site/${address}`);
        const problem = problemOf(decodeURIComponent(pathname), decodeURIComponent(hash.slice(1)));
        return problem === undefined ? [] : [`${path}: ${href}: ${problem}`];
      });
    });
    expect(dead).toEqual([]);
  });

  test('every address of the documentation that a program or a manifest contains is an address of the site', () => {
    const files = globSync(['{src,providers,bin}/**/*', 'manifests/**/*.{yaml,json,tpl}', 'package.json'], { cwd: root });
    const addresses = files.filter((file) => statSync(join(root, file)).isFile()).flatMap((file) => addressesIn(file));
    expect(addresses.length).toBeGreaterThan(40);
    const dead = addresses.flatMap(({ file, path, anchor }) => {
      const problem = problemOf(path, anchor);
      return problem === undefined ? [] : [`${file}: ${problem}`];
    });
    expect(dead).toEqual([]);
  });

  test('a dead link fails the build, and its page is named', () => {
    const wrong = mkdtempSync(join(tmpdir(), 'herald-links-'));
    writeFileSync(join(wrong, 'page.md'), '# Page\n\n[a](#none)\n');
    const { status, stderr } = spawnSync('node', ['scripts/site/check-links.ts', wrong], { cwd: root, encoding: 'utf8' });
    rmSync(wrong, { recursive: true });
    expect({ status, stderr }).toEqual({ status: 1, stderr: 'dead link in page.md: #none: no such heading\n' });
    expect(manifest.scripts['docs:build']).toMatch(/^node scripts\/site\/check-links\.ts && /);
  });

  test('the search finds words of every page without a server', () => {
    const [index = ''] = globSync('assets/chunks/@localSearchIndex*.js', { cwd: folder });
    const words = readFileSync(join(folder, index), 'utf8');
    const missing = pages.filter(({ path }) => !words.includes(`/${addressOf(path).replace(/(^|\/)index\.html$/, '$1')}`));
    expect(missing.map(({ path }) => path)).toEqual([]);
  });
});

interface Address {
  readonly file: string;
  readonly path: string;
  readonly anchor: string;
}

/** Returns the addresses of the site in a file. The links of the dashboard begin with its variable for the address of the documentation. */
function addressesIn(file: string): readonly Address[] {
  const text = readFileSync(join(root, file), 'utf8').replaceAll(['$', '{docs}/'].join(''), `${homepage}/`);
  const addresses = text.matchAll(new RegExp(`${homepage}(/[\\w./-]*)?(?:#([\\w-]+))?`, 'g'));
  return [...addresses].map(([, path = '/', anchor = '']) => ({ file, path, anchor }));
}
