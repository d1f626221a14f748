import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A page of Markdown in the repository. */
export interface Page {
  /** From the root of the repository: docs/how-to/install.md. */
  readonly path: string;
  readonly text: string;
}

/** Folders of packages and of built files. */
export const foldersWithoutPages = [
  'node_modules',
  'dist',
  'dist-bgp',
  'dist-bfd',
  'dist-kubectl',
  'dist-release',
  'dist-site',
  'program',
  'coverage',
];

/** Returns every page of the repository. All of them are pages of the site, because pages link to each other. */
export function readPages(root: string): readonly Page[] {
  const paths = globSync('**/*.md', { cwd: root, exclude: (name) => foldersWithoutPages.includes(name) });
  return paths.toSorted().map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));
}

/** Returns where the site has a page: "docs/how-to/install.html", or "docs/index.html" for docs/README.md. */
export function addressOf(path: string): string {
  return path.replace(/(^|\/)README\.md$/, '$1index.md').replace(/\.md$/, '.html');
}

/** Returns the title of a page, its first heading. */
export function titleOf({ path, text }: Page): string {
  const title = /^# (.+)$/m.exec(text)?.[1];
  if (title === undefined) throw new Error(`${path} has no title: its first line must be "# ..."`);
  return title.replaceAll('`', '');
}
