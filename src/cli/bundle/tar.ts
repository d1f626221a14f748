import assert from 'node:assert';

/** A file of an archive. */
export interface TarEntry {
  /** Relative, with "/" between its parts. */
  readonly path: string;
  readonly content: Uint8Array;
}

const blockLength = 512;

/** An archive of plain files in the format ustar (POSIX.1-2008, pax), which every tar reads. `modified`: of all of them. */
export function tar(entries: readonly TarEntry[], modified: Date): Buffer {
  const files = entries.flatMap(({ path, content }) => [header(path, content.length, modified), padded(content)]);
  return Buffer.concat([...files, Buffer.alloc(2 * blockLength)]);
}

/** Name (100) | mode (8) | user (8) | group (8) | size (12) | time (12) | checksum (8) | type (1) | link (100) | "ustar" and version (8) | ... | prefix (155). */
function header(path: string, length: number, modified: Date): Buffer {
  const { prefix, name } = split(path);
  const block = Buffer.alloc(blockLength);
  block.write(name, 0);
  block.write('0000600\0', 100);
  block.write('0000000\0', 108);
  block.write('0000000\0', 116);
  block.write(`${length.toString(8).padStart(11, '0')}\0`, 124);
  block.write(
    `${Math.floor(modified.getTime() / 1000)
      .toString(8)
      .padStart(11, '0')}\0`,
    136,
  );
  block.write(' '.repeat(8), 148); // The checksum is made with blanks in its place.
  block.write('0', 156);
  block.write('ustar\u000000', 257);
  block.write(prefix, 345);
  const checksum = block.reduce((sum, octet) => sum + octet, 0);
  block.write(`${checksum.toString(8).padStart(6, '0')}\0 `, 148);
  return block;
}

/** A path of more than 100 octets is cut at a "/". */
function split(path: string): { readonly prefix: string; readonly name: string } {
  if (Buffer.byteLength(path) <= 100) return { prefix: '', name: path };
  const cut = path.lastIndexOf('/');
  const [prefix, name] = [path.slice(0, Math.max(cut, 0)), path.slice(cut + 1)];
  assert(Buffer.byteLength(prefix) <= 155 && Buffer.byteLength(name) <= 100, `${path} is too long a name for an archive`);
  return { prefix, name };
}

function padded(content: Uint8Array): Buffer {
  return Buffer.concat([content, Buffer.alloc((blockLength - (content.length % blockLength)) % blockLength)]);
}
