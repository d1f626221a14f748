import { gzipSync } from 'node:zlib';

export interface TarFile {
  /** At most 100 octets. */
  readonly name: string;
  readonly content: Buffer;
  readonly executable: boolean;
}

const block = 512;

/** A .tar.gz (POSIX ustar) that is the same whenever it is made of the same: without times and owners. */
export function tarball(files: readonly TarFile[]): Buffer {
  const parts = files.flatMap(({ name, content, executable }) => [
    header(name, content.length, executable),
    content,
    Buffer.alloc((block - (content.length % block)) % block),
  ]);
  const compressed = gzipSync(Buffer.concat([...parts, Buffer.alloc(2 * block)]), { level: 9 });
  // Which system made it (RFC 1952 2.3.1): 255, unknown.
  compressed[9] = 255;
  return compressed;
}

/** name, mode, uid, gid, size, mtime, checksum, type, link, magic and version; the rest is owners' names, devices and a prefix. */
function header(name: string, size: number, executable: boolean): Buffer {
  const octal = (value: number, length: number): string => `${value.toString(8).padStart(length - 1, '0')}\0`;
  const bytes = Buffer.alloc(block);
  const fields = [
    name.padEnd(100, '\0'),
    octal(executable ? 0o755 : 0o644, 8),
    octal(0, 8),
    octal(0, 8),
    octal(size, 12),
    octal(0, 12),
    // The checksum counts as spaces.
    ' '.repeat(8),
    '0',
    '\0'.repeat(100),
    'ustar\x0000',
  ];
  const written = bytes.write(fields.join(''), 'latin1');
  if (name.length > 100 || written !== 265) throw new Error(`${name} is no name for a file of a tar`);
  const sum = bytes.reduce((total, byte) => total + byte, 0);
  bytes.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return bytes;
}
