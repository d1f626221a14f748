import { tar } from '../../../src/lang/tar.ts';

/** A file system as data. It has no owners and no times: everything belongs to root and has the time of the commit. */
export type Node =
  | { readonly kind: 'file'; readonly mode: number; readonly content: Buffer }
  | { readonly kind: 'directory'; readonly mode: number }
  | { readonly kind: 'link'; readonly target: string };

/** Nodes by their path, without "/" at either end. Parents may be missing: `tarOf` adds them. */
export type Tree = Map<string, Node>;

export const file = (content: Buffer | string, mode = 0o644): Node => ({ kind: 'file', mode, content: Buffer.from(content) });
export const directory = (mode = 0o755): Node => ({ kind: 'directory', mode });
export const link = (target: string): Node => ({ kind: 'link', target });

/** Returns the content of a file in a tree. Throws when there is none. */
export function contentOf(tree: ReadonlyMap<string, Node>, path: string): Buffer {
  const node = tree.get(path);
  if (node?.kind !== 'file') throw new Error(`there is no file ${path}`);
  return node.content;
}

/** Adds all nodes below a path of another tree. Throws when both have a file of that name, with other content. */
export function merge(into: Tree, from: ReadonlyMap<string, Node>, below = ''): void {
  for (const [path, node] of from) {
    const target = below === '' ? path : `${below}/${path}`;
    const present = into.get(target);
    if (present !== undefined && !alike(present, node)) throw new Error(`${target} is there twice, with different content`);
    into.set(target, node);
  }
}

function alike(one: Node, other: Node): boolean {
  if (one.kind === 'directory' || other.kind === 'directory') return one.kind === other.kind;
  if (one.kind === 'link' || other.kind === 'link') return one.kind === 'link' && other.kind === 'link' && one.target === other.target;
  return one.content.equals(other.content);
}

/** Returns a tree as a tar archive: sorted by name, so that the same tree gives the same octets, and each directory before its content. */
export function tarOf(tree: ReadonlyMap<string, Node>, modified: Date): Buffer {
  const whole: Tree = new Map(tree);
  for (const path of tree.keys()) {
    for (let at = path.indexOf('/'); at !== -1; at = path.indexOf('/', at + 1)) {
      const parent = path.slice(0, at);
      const node = whole.get(parent);
      if (node === undefined) whole.set(parent, directory());
      else if (node.kind !== 'directory') throw new Error(`${path} is below ${parent}, which is no directory`);
    }
  }
  const none = new Uint8Array(0);
  const entries = [...whole].toSorted(byName).map(([path, node]) => {
    switch (node.kind) {
      case 'file':
        return { path, content: node.content, mode: node.mode };
      case 'directory':
        return { path: `${path}/`, content: none, mode: node.mode };
      case 'link':
        return { path, content: none, mode: 0o777, link: node.target };
    }
  });
  return tar(entries, modified);
}

/** Compares by UTF-16 code units and not by a locale, which differs among machines. */
export function byName([one]: readonly [string, unknown], [other]: readonly [string, unknown]): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
