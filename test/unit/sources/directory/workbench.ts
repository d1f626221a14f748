import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Change } from '../../../../src/model/store/snapshot.ts';
import { DirectorySource } from '../../../../src/sources/directory/directory-source.ts';
import { problemText } from '../../../../src/sources/source.ts';
import { systemClock } from '../../../../src/system/clock.ts';
import { silentLog } from '../../../../src/system/log.ts';

/** A directory of manifests with a source. Tests wait for the source's notifications, never for time to pass. */
export class Workbench {
  readonly source: DirectorySource;
  readonly batches: (readonly Change[])[] = [];
  readonly #root: string;
  readonly #waiting = new Set<() => void>();

  private constructor(root: string) {
    this.#root = root;
    this.source = new DirectorySource(root, { clock: systemClock, log: silentLog });
    this.source.onChange((changes) => {
      this.batches.push(changes);
      this.#wake();
    });
    this.source.onProblem(() => this.#wake());
  }

  static async over(files: Readonly<Record<string, string>>): Promise<Workbench> {
    const bench = new Workbench(await mkdtemp(join(tmpdir(), 'herald-source-')));
    for (const [path, text] of Object.entries(files)) await bench.write(path, text);
    return bench;
  }

  static async started(files: Readonly<Record<string, string>>): Promise<Workbench> {
    const bench = await Workbench.over(files);
    await bench.source.start();
    return bench;
  }

  path(file: string): string {
    return join(this.#root, file);
  }

  async write(file: string, text: string): Promise<void> {
    await mkdir(dirname(this.path(file)), { recursive: true });
    await writeFile(this.path(file), text);
  }

  /** Saves as editors do: writes a temporary file and renames it. */
  async replace(file: string, text: string): Promise<void> {
    await writeFile(this.path(`${file}~`), text);
    await rename(this.path(`${file}~`), this.path(file));
  }

  async move(from: string, to: string): Promise<void> {
    await rename(this.path(from), this.path(to));
  }

  async remove(file: string): Promise<void> {
    await rm(this.path(file), { recursive: true });
  }

  /** Resolves when the condition holds; it is checked after each batch and each change of problems. */
  until(condition: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const look = (): void => {
        if (!condition()) return;
        this.#waiting.delete(look);
        resolve();
      };
      this.#waiting.add(look);
      look();
    });
  }

  get keys(): string[] {
    return this.batches.flat().map(({ kind, key }) => `${kind} ${key}`);
  }

  get problems(): string[] {
    return this.source.problems().map(problemText);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.source.close();
    await rm(this.#root, { recursive: true, force: true });
  }

  #wake(): void {
    for (const look of this.#waiting) look();
  }
}

export const poolYaml = (name: string, addresses = '192.0.2.0/24'): string =>
  `apiVersion: herald.dev/v1alpha1\nkind: IPAddressPool\nmetadata:\n  name: ${name}\nspec:\n  addresses:\n  - ${addresses}\n`;

export const serviceYaml = (name: string, clusterIP: string): string =>
  `apiVersion: v1\nkind: Service\nmetadata: {name: ${name}, namespace: shop}\nspec:\n  type: LoadBalancer\n  clusterIP: ${clusterIP}\n  ports:\n  - port: 80\n`;
