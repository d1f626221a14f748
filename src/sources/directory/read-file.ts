import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { limits } from './limits.ts';

export type FileContent =
  | { readonly kind: 'text'; readonly text: string; readonly version: string }
  | { readonly kind: 'gone' }
  | { readonly kind: 'unreadable'; readonly message: string; readonly version: string };

/** Reads a file up to the size bound. `version` is its modification time in nanoseconds. Never rejects. */
export async function readBounded(path: string): Promise<FileContent> {
  let version = '';
  try {
    // Opened without blocking, because opening a FIFO waits for its writer.
    const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const stats = await file.stat({ bigint: true });
      version = stats.mtimeNs.toString();
      if (!stats.isFile()) return { kind: 'gone' };
      if (stats.size > BigInt(limits.fileBytes)) {
        return { kind: 'unreadable', message: `is larger than ${limits.fileBytes / 1024 / 1024} MiB`, version };
      }
      return { kind: 'text', text: await file.readFile('utf8'), version };
    } finally {
      await file.close();
    }
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown error';
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'EISDIR') return { kind: 'gone' };
    return { kind: 'unreadable', message: `cannot be read: ${code}`, version };
  }
}
