import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { version } from '../../../src/model/objects/version.ts';
import { clone, release } from '../../release/clone.ts';
import type { ImageFile } from '../cluster/images.ts';
import { cacheDirectory } from '../programs.ts';

/** The files of a release of the working tree, in a folder that nodes can read. */
export class ReleaseFiles {
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  /** Runs `npm run release -- VERSION --dry-run` in a clone of the working tree, with the version that its pages name. */
  static async build(): Promise<ReleaseFiles> {
    const work = mkdtempSync(join(tmpdir(), 'herald-quick-start-'));
    const folder = join(cacheDirectory, 'quick-start');
    try {
      mkdirSync(cacheDirectory, { recursive: true });
      await clone(join(work, 'sources'));
      const { code, stdout, stderr } = await release(join(work, 'sources'), [version, '--dry-run', '--folder', folder]);
      if (code !== 0) throw new Error(`the release was not built: ${stdout}${stderr}`);
      return new ReleaseFiles(folder);
    } finally {
      rmSync(work, { recursive: true, force: true });
    }
  }

  /** The folder of the files. */
  get folder(): string {
    return this.#folder;
  }

  /** The image. Its archive has the name that the chart of a dry run expects. */
  get image(): ImageFile {
    return { path: join(this.#folder, `herald-${version}-image.oci.tar`) };
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
