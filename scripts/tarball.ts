import { gzipSync } from 'node:zlib';
import { tar } from '../src/lang/tar.ts';

export interface TarballFile {
  readonly name: string;
  readonly content: Buffer;
  readonly executable: boolean;
}

/** Returns a reproducible .tar.gz: the same files give the same octets, because it contains no times, owners or operating system. */
export function tarball(files: readonly TarballFile[]): Buffer {
  const entries = files.map(({ name, content, executable }) => ({ path: name, content, mode: executable ? 0o755 : 0o644 }));
  const compressed = gzipSync(tar(entries, new Date(0)), { level: 9 });
  // The operating system octet (RFC 1952 2.3.1): 255 means unknown.
  compressed[9] = 255;
  return compressed;
}
