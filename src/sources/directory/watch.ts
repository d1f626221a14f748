import { relative } from 'node:path';
import { watch } from 'chokidar';
import { limits } from './limits.ts';
import { mayHoldFiles, roleOf } from './layout.ts';

export interface Watch {
  /** Resolves when every file that exists has been reported. */
  readonly ready: Promise<void>;
  close(): Promise<void>;
}

/**
 * Reports paths, relative to the root, of files that appeared, changed or went away, and again and again: only that a file
 * deserves a look, never what happened to it. A rename over a file, as editors do it, is one report or two.
 */
export function watchFolder(root: string, onPath: (path: string) => void, onError: (error: unknown) => void): Watch {
  const watcher = watch(root, {
    ignored: (path, stats) => {
      const inside = relative(root, path);
      if (inside === '' || stats === undefined) return false;
      return stats.isDirectory() ? !mayHoldFiles(inside) : stats.isFile() && roleOf(inside) === undefined;
    },
    // We collect events into batches ourselves and look at the file, so chokidar need not wait for pairs of events.
    atomic: false,
    depth: limits.depth,
  });
  watcher.on('all', (event, path) => {
    if (event !== 'addDir' && event !== 'unlinkDir') onPath(relative(root, path));
  });
  watcher.on('error', onError);
  const ready = new Promise<void>((resolve) => watcher.once('ready', resolve));
  return { ready, close: () => watcher.close() };
}
