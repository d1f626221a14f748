import assert from 'node:assert';

/** A file in an archive. */
export interface TarEntry {
  /** Relative, with "/" between its parts. The path of a directory ends in "/". */
  readonly path: string;
  readonly content: Uint8Array;
  /** Permission bits. */
  readonly mode: number;
  /** If the entry is a symbolic link: its target. It then has no content. */
  readonly link?: string;
}

const blockLength = 512;

/**
 * An archive of files, directories and symbolic links in the ustar format (POSIX.1-2008, pax), which every tar program reads. Owner and group
 * are 0. All entries get the modification time `modified`.
 */
export function tar(entries: readonly TarEntry[], modified: Date): Buffer {
  const files = entries.flatMap((entry) => [header(entry, modified), padded(entry.content)]);
  return Buffer.concat([...files, Buffer.alloc(2 * blockLength)]);
}

/**
 * Name (100) | mode (8) | user (8) | group (8) | size (12) | time (12) | checksum (8) | type (1) | link (100) | "ustar" and version (8) |
 * ... | prefix (155).
 */
function header({ path, content, mode, link = '' }: TarEntry, modified: Date): Buffer {
  const { prefix, name } = split(path);
  assert(Buffer.byteLength(link) <= 100, `${path}: the target of the link is too long for an archive`);
  const block = Buffer.alloc(blockLength);
  block.write(name, 0);
  block.write(octal(mode, 8), 100);
  block.write(octal(0, 8), 108);
  block.write(octal(0, 8), 116);
  block.write(octal(content.length, 12), 124);
  block.write(octal(Math.floor(modified.getTime() / 1000), 12), 136);
  // The checksum is computed with blanks in its own field.
  block.write(' '.repeat(8), 148);
  block.write(link !== '' ? '2' : path.endsWith('/') ? '5' : '0', 156);
  block.write(link, 157);
  block.write('ustar\u000000', 257);
  block.write(prefix, 345);
  const checksum = block.reduce((sum, octet) => sum + octet, 0);
  block.write(`${octal(checksum, 7)} `, 148);
  return block;
}

/** `length` includes the NUL at the end. */
function octal(value: number, length: number): string {
  return `${value.toString(8).padStart(length - 1, '0')}\0`;
}

/** Splits a path of more than 100 octets at its last "/". */
function split(path: string): { readonly prefix: string; readonly name: string } {
  if (Buffer.byteLength(path) <= 100) return { prefix: '', name: path };
  const cut = path.lastIndexOf('/', path.length - 2);
  const [prefix, name] = [path.slice(0, Math.max(cut, 0)), path.slice(cut + 1)];
  assert(Buffer.byteLength(prefix) <= 155 && Buffer.byteLength(name) <= 100, `${path} is too long a name for an archive`);
  return { prefix, name };
}

function padded(content: Uint8Array): Buffer {
  return Buffer.concat([content, Buffer.alloc((blockLength - (content.length % blockLength)) % blockLength)]);
}
