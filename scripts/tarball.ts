import { tar } from '../src/lang/tar.ts';
import { compress } from './release/files/archive.ts';

export interface TarballFile {
  readonly name: string;
  readonly content: Buffer;
  readonly executable: boolean;
}

/** Returns a reproducible .tar.gz: the same files give the same octets, because it contains no times, owners or operating system. */
export function tarball(files: readonly TarballFile[]): Buffer {
  const entries = files.map(({ name, content, executable }) => ({ path: name, content, mode: executable ? 0o755 : 0o644 }));
  return compress(tar(entries, new Date(0)));
}
