import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isElsewhere, linksOf, resolveLink } from './links.ts';
import { addressOf, type Page } from './pages.ts';

/**
 * Returns what a link of a page is on the site. A page of Markdown is HTML there. Every other file is published beside the pages as text,
 * "/examples/fabric/30-web.yaml.txt", because web servers send files like .ts with the type of a video.
 */
export function siteLink(from: string, target: string): string {
  if (isElsewhere(target) || target.startsWith('#')) return target;
  const { path, anchor } = resolveLink(from, target);
  const address = path.endsWith('.md') ? addressOf(path) : `${path}.txt`;
  return `/${address}${anchor === '' ? '' : `#${anchor}`}`;
}

/** Returns the files and folders that pages link to, without pages and images. */
export function linkedFiles(pages: readonly Page[]): readonly string[] {
  const paths = pages.flatMap((page) => linksOf(page).map((target) => resolveLink(page.path, target).path));
  return [...new Set(paths)].filter((path) => !/\.(md|svg)$/.test(path)).toSorted();
}

/** Returns what the site shows for a linked file. For a folder these are all its files, one after the other. */
export function textOf(root: string, path: string): string {
  const full = join(root, path);
  if (!statSync(full).isDirectory()) return readFileSync(full, 'utf8');
  const files = readdirSync(full, { recursive: true, encoding: 'utf8' }).filter((name) => statSync(join(full, name)).isFile());
  return files
    .toSorted()
    .map((name) => `==> ${join(path, name)} <==\n${readFileSync(join(full, name), 'utf8')}`)
    .join('\n');
}

/** Writes the linked files into the folder of the built site. */
export function publishLinkedFiles(root: string, pages: readonly Page[], folder: string): void {
  for (const path of linkedFiles(pages)) {
    const file = join(folder, `${path}.txt`);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, textOf(root, path));
  }
}

/**
 * Makes the address of a page in the repository lead to the page of the site: /docs/how-to/runbooks.md#heraldnoleader, as alerts have it, because
 * they may lead to a copy of the repository instead. A web server answers for the folder of that name with its index, as HTML.
 */
export function publishRepositoryAddresses(pages: readonly Page[], folder: string): void {
  for (const { path } of pages) {
    mkdirSync(join(folder, path), { recursive: true });
    writeFileSync(join(folder, path, 'index.html'), redirectTo(`/${addressOf(path)}`));
  }
}

/** Returns a page that leads to another address. The script keeps the anchor, which only the browser knows. */
function redirectTo(address: string): string {
  return [
    '<!doctype html>',
    '<html lang="en">',
    `<head><meta charset="utf-8"><title>Herald</title><link rel="canonical" href="${address}">`,
    `<script>location.replace('${address}' + location.hash)</script>`,
    `<noscript><meta http-equiv="refresh" content="0; url=${address}"></noscript></head>`,
    `<body><a href="${address}">${address}</a></body>`,
    '</html>',
    '',
  ].join('\n');
}

/** Returns the linked file of an address of the site, or undefined if it is none. */
export function linkedFileAt(root: string, pages: readonly Page[], address: string): string | undefined {
  const path = address.replace(/^\//, '').replace(/\.txt$/, '');
  return address.endsWith('.txt') && linkedFiles(pages).includes(path) && existsSync(join(root, path)) ? textOf(root, path) : undefined;
}
