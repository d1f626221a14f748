import type { Node, Tree } from './tree.ts';

const block = 512;

/**
 * Reads a tar archive as Debian's packages, npm's packages and git write it: ustar, with the long names of GNU (types L and K) or of pax (types x
 * and g). A hard link becomes a second file with the same content. Devices are refused. setuid and setgid are dropped: nothing in our image
 * needs them.
 */
export function readTar(archive: Buffer): Tree {
  const tree: Tree = new Map();
  let long: { path?: string; link?: string } = {};
  for (let at = 0; at + block <= archive.length;) {
    const header = archive.subarray(at, at + block);
    if (header[0] === 0 && header.every((octet) => octet === 0)) break;
    const size = octal(header, 124, 12);
    const content = archive.subarray(at + block, at + block + size);
    at += block + Math.ceil(size / block) * block;
    const type = String.fromCharCode(header[156] ?? 0).replace('\0', '0');
    if (type === 'L') long.path = text(content, 0, size);
    else if (type === 'K') long.link = text(content, 0, size);
    else if (type === 'x') Object.assign(long, paxNames(content));
    else if (type !== 'g') {
      const path = normal(long.path ?? nameOf(header));
      const target = long.link ?? text(header, 157, 100);
      long = {};
      if (path !== '') tree.set(path, nodeOf(type, { path, target, mode: octal(header, 100, 8), content, tree }));
    }
  }
  return tree;
}

interface Entry {
  readonly path: string;
  readonly target: string;
  readonly mode: number;
  readonly content: Buffer;
  readonly tree: Tree;
}

function nodeOf(type: string, { path, target, mode, content, tree }: Entry): Node {
  switch (type) {
    case '0':
      return { kind: 'file', mode: mode & 0o1777, content };
    case '5':
      return { kind: 'directory', mode: mode & 0o1777 };
    case '2':
      return { kind: 'link', target };
    case '1': {
      const other = tree.get(normal(target));
      if (other?.kind !== 'file') throw new Error(`${path} is a hard link to ${target}, which is not in the archive before it`);
      return other;
    }
    default:
      throw new Error(`${path} is of type ${type}, which is neither a file nor a directory nor a link`);
  }
}

/** The prefix of ustar is at 345. GNU uses the place for something else, and writes two blanks behind "ustar". */
function nameOf(header: Buffer): string {
  const prefix = header.toString('latin1', 257, 263) === 'ustar\0' ? text(header, 345, 155) : '';
  const name = text(header, 0, 100);
  return prefix === '' ? name : `${prefix}/${name}`;
}

/** Records of pax: "LENGTH KEY=VALUE\n". */
function paxNames(content: Buffer): { path?: string; link?: string } {
  const names: { path?: string; link?: string } = {};
  for (let at = 0; at < content.length;) {
    const blank = content.indexOf(0x20, at);
    const length = Number(content.toString('latin1', at, blank));
    if (blank === -1 || !(length > 0)) throw new Error('a pax header has a record without a length');
    const [, key, value = ''] = /^(\w[^=]*)=(.*)\n$/s.exec(content.toString('utf8', blank + 1, at + length)) ?? [];
    if (key === 'path') names.path = value;
    if (key === 'linkpath') names.link = value;
    at += length;
  }
  return names;
}

function normal(path: string): string {
  const parts = path.split('/').filter((part) => part !== '' && part !== '.');
  if (parts.includes('..')) throw new Error(`${path} leads out of the archive`);
  return parts.join('/');
}

function text(from: Buffer, at: number, length: number): string {
  const end = from.subarray(at, at + length).indexOf(0);
  return from.toString('utf8', at, end === -1 ? at + length : at + end);
}

function octal(header: Buffer, at: number, length: number): number {
  return Number.parseInt(text(header, at, length).trim() || '0', 8);
}
