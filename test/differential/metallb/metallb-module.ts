import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parse } from 'yaml';

/** Returns MetalLB's CRDs, from the module that the controller is built from. */
export async function metallbDefinitions(): Promise<object[]> {
  const cwd = join(import.meta.dirname, '../../conformance/metallb');
  const { stdout } = await promisify(execFile)('go', ['list', '-m', '-f', '{{.Dir}}', 'go.universe.tf/metallb'], { cwd });
  const directory = join(stdout.trim(), 'config/crd/bases');
  const files = (await readdir(directory)).toSorted();
  return Promise.all(files.map(async (file) => parse(await readFile(join(directory, file), 'utf8')) as object));
}
