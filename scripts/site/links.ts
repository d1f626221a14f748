import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { anchorsOf, withoutCode } from './anchors.ts';
import type { Page } from './pages.ts';

/** Returns the targets of the links and images of a page, without those that lead elsewhere: "install.md#with-helm", "#with-helm". */
export function linksOf({ text }: Page): readonly string[] {
  const prose = withoutCode(text).replaceAll(/(`+)[^`]+?\1/g, 'code');
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target).filter((target) => !isElsewhere(target));
}

export function isElsewhere(target: string): boolean {
  return /^[a-z]+:/.test(target);
}

/** Returns what a relative link leads to: a path from the root of the repository, and an anchor, or "". */
export function resolveLink(from: string, target: string): { readonly path: string; readonly anchor: string } {
  const [file = '', anchor = ''] = target.split('#');
  return { path: file === '' ? from : join(from, '..', file).replace(/\/$/, ''), anchor: decodeURIComponent(anchor) };
}

/** Returns every link that leads to a missing file or to a missing anchor of a page, with the page that has it. */
export function deadLinks(root: string, pages: readonly Page[]): readonly string[] {
  const anchors = new Map(pages.map(({ path, text }) => [path, anchorsOf(text)]));
  return pages.flatMap((page) =>
    linksOf(page).flatMap((target) => {
      const { path, anchor } = resolveLink(page.path, target);
      if (path.startsWith('..') || !existsSync(join(root, path))) return [`${page.path}: ${target}: no such file`];
      if (anchor === '' || anchors.get(path)?.has(anchor) === true) return [];
      return [`${page.path}: ${target}: no such heading`];
    }),
  );
}
