import { mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { dirname, basename, join } from 'node:path';
import { SourceError } from '../source.ts';

/** Returns the text of a file, or undefined when it does not exist. */
export async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new SourceError('notWritten', `cannot read ${basename(path)}: ${(error as NodeJS.ErrnoException).code ?? ''}`, { cause: error });
  }
}

/**
 * Replaces a whole file: readers never see half of it, and after a crash one of the two versions exists. Creates folders as needed. The
 * temporary name begins with a dot, so the source does not read it. Rejects with SourceError.
 */
export async function replaceFile(path: string, text: string, mode = 0o644): Promise<void> {
  const folder = dirname(path);
  // Each file has one writer, which writes one version at a time. A fixed name therefore leaves at most one file behind.
  const temporary = join(folder, `.${basename(path)}.tmp`);
  try {
    await mkdir(folder, { recursive: true, mode: 0o755 });
    const file = await open(temporary, 'w', mode);
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

/** Removes a file. Succeeds when it does not exist. */
export async function removeFile(path: string): Promise<void> {
  try {
    await rm(path, { force: true });
  } catch (error) {
    throw new SourceError('notWritten', `cannot remove ${basename(path)}: ${(error as NodeJS.ErrnoException).code ?? ''}`, {
      cause: error,
    });
  }
}
