import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expandList } from '../../model/parse.ts';
import { SourceError, type SourceProblem } from '../source.ts';
import { decodeDocuments } from './decode/documents.ts';
import { roleOf } from './layout.ts';
import { readBounded } from './read-file.ts';
import { FolderWatch } from './watch/folder-watch.ts';

export interface RawObjects {
  readonly objects: readonly { readonly raw: unknown; readonly where: string }[];
  readonly problems: readonly SourceProblem[];
}

/** Reads every object of a file, or of the manifests below a directory, of any kind. For commands that read other programs' objects. */
export async function readRawObjects(path: string): Promise<RawObjects> {
  const found = await stat(path).catch((error: unknown) => error as NodeJS.ErrnoException);
  if (found instanceof Error) throw new SourceError('unreadable', `${path} cannot be read: ${found.code ?? ''}`, { cause: found });
  const files = found.isDirectory() ? (await manifestsBelow(path)).map((file) => join(path, file)) : [path];
  const all = await Array.fromAsync(files, async (file): Promise<RawObjects> => {
    const content = await readBounded(file);
    if (content.kind === 'text') return decodeObjects(file, content.text);
    const message = content.kind === 'gone' ? 'is no file' : content.message;
    return { objects: [], problems: [{ severity: 'error', file, message, fix: '' }] };
  });
  return { objects: all.flatMap(({ objects }) => objects), problems: all.flatMap(({ problems }) => problems) };
}

/** `file` names the text in messages. */
export function decodeObjects(file: string, text: string): RawObjects {
  const documents = decodeDocuments(text, file.endsWith('.json'));
  return {
    problems: documents.flatMap(({ errors }) =>
      errors.map(({ line, column, message }): SourceProblem => ({ severity: 'error', file, line, column, message, fix: '' })),
    ),
    objects: documents
      .filter(({ errors }) => errors.length === 0)
      .flatMap((document) => expandList(document.raw).map(({ raw, path }) => ({ raw, where: `${file}:${document.locate(path).line}` }))),
  };
}

async function manifestsBelow(directory: string): Promise<string[]> {
  const files = new Set<string>();
  // The directory is read once, so a failed watch does not matter.
  const watch = new FolderWatch(
    directory,
    (path) => void files.add(path),
    () => undefined,
  );
  await watch.start();
  await watch.close();
  for (const [folder, code] of watch.unreadable) throw new SourceError('unreadable', `${join(directory, folder)} cannot be read: ${code}`);
  return [...files].filter((path) => roleOf(path)?.kind === 'manifest').sort();
}
