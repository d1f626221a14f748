import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../../lab/command.ts';
import { buildDirectory, cacheDirectory, clusterProgram, defaultMinor } from '../programs.ts';
import { writeArchive } from './archive.ts';
import type { ImageArchive } from './kubernetes.ts';

/** The image that pages of the documentation run, as a node names it. */
const name = 'docker.io/library/nginx:1';

/** Returns an archive of an image with this name that answers HTTP at port 80, and makes it when there is none. agnhost takes the place of nginx. */
export async function webServerImage(): Promise<ImageArchive> {
  const directory = join(cacheDirectory, 'images');
  const digest = createHash('sha256').update(buildDirectory(defaultMinor)).digest('hex').slice(0, 16);
  const path = join(directory, `web-server-${digest}.tar`);
  if (existsSync(path)) return { names: [name], path };
  mkdirSync(directory, { recursive: true });
  const work = mkdtempSync(join(directory, 'layers-'));
  try {
    mkdirSync(join(work, 'root'));
    copyFileSync(clusterProgram('agnhost'), join(work, 'root/agnhost'));
    const layer = join(work, 'layer.tar');
    await run(['tar', '--numeric-owner', '--owner=0', '--group=0', '-C', join(work, 'root'), '-cf', layer, './agnhost']);
    await writeArchive(path, [{ names: [name], layers: [layer], entrypoint: ['/agnhost'], command: ['netexec', '--http-port=80'] }]);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  return { names: [name], path };
}
