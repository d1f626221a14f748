import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { run } from '../lab/command.ts';
import { Image } from './container/image.ts';
import { testImage } from './container/suite.ts';

/** Carries out the commands of the Containerfile in a copy of Debian, without a container engine, and runs the result. */
const project = join(import.meta.dirname, '../..');
let image: Image;

/** Returns this machine's npm settings for the npm of the image. */
async function npmSettings(): Promise<Record<string, string>> {
  const { stdout } = await run(['npm', 'config', 'get', 'registry']);
  return { npm_config_registry: stdout.trim() };
}

testImage(
  async () => (image = await Image.build(project, await npmSettings())),
  (JSON.parse(readFileSync(join(project, 'package.json'), 'utf8')) as { version: string }).version,
);

test('the image has at most 120 MB as registries store it', async () => {
  // The base of this test is a plain Debian. The slim image that the Containerfile names lacks what documents it.
  const left = ['usr/share/doc', 'usr/share/locale', 'usr/share/man', 'var/lib/apt/lists', 'run'].map((path) => `--exclude=./${path}/*`);
  const script = 'cd "$0" && tar -c "$@" . | gzip -6 | wc -c';
  const { stdout } = await run(['sh', '-c', script, image.root, ...left], { timeoutMs: 300_000 });
  const megabytes = Number(stdout) / 1_000_000;
  console.log(`the image: ${megabytes.toFixed(1)} MB`);
  expect(megabytes).toBeLessThan(120);
});
