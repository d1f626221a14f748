import { mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { dirname, basename, join } from 'node:path';
import { SourceError } from '../source.ts';

/** The text of a file, or undefined when there is none. */
export async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new SourceError('notWritten', `cannot read ${basename(path)}: ${(error as NodeJS.ErrnoException).code ?? ''}`, { cause: error });
  }
}

/**
 * Replaces a file as a whole, so that no reader ever sees half of it, and after a crash either version is there. Folders are
 * made as needed. The temporary name begins with a dot, so the source does not read it. Rejects with SourceError.
 */
export async function replaceFile(path: string, text: string): Promise<void> {
  const folder = dirname(path);
  // There is one writer per file, which writes one version at a time: a fixed name leaves at most one file behind.
  const temporary = join(folder, `.${basename(path)}.tmp`);
  try {
    await mkdir(folder, { recursive: true, mode: 0o755 });
    const file = await open(temporary, 'w', 0o644);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    throw new SourceError('notWritten', `cannot write ${basename(path)}: ${(error as NodeJS.ErrnoException).code ?? ''}`, { cause: error });
  }
}

/** Removing what is not there succeeds. */
export async function removeFile(path: string): Promise<void> {
  try {
    await rm(path, { force: true });
  } catch (error) {
    throw new SourceError('notWritten', `cannot remove ${basename(path)}: ${(error as NodeJS.ErrnoException).code ?? ''}`, {
      cause: error,
    });
  }
}
