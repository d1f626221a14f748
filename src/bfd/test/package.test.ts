import { execFileSync } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { afterAll, beforeAll, expect, test } from 'vitest';

const root = join(import.meta.dirname, '../../..');
/** The directory of a program that uses the package and has only its dependency beside it. */
let consumer: string;
let built: string;

beforeAll(() => {
  consumer = mkdtempSync(join(tmpdir(), 'herald-bfd-'));
  built = join(consumer, 'node_modules/herald-bfd');
  execFileSync(process.execPath, [join(root, 'scripts/build-library.ts'), 'bfd', built], { encoding: 'utf8', stdio: 'pipe' });
  for (const name of ['koffi', '@koromix']) symlinkSync(join(root, 'node_modules', name), join(consumer, 'node_modules', name));
  writeFileSync(join(consumer, 'package.json'), '{ "type": "module" }');
});

afterAll(() => rmSync(consumer, { recursive: true }));

function run(program: string): string {
  writeFileSync(join(consumer, 'program.js'), program);
  return execFileSync(process.execPath, ['program.js'], { cwd: consumer, encoding: 'utf8', timeout: 30_000 });
}

test("inside the repository the package's name resolves to the source", async () => {
  expect((await import('herald-bfd')).Bfd).toBe((await import('../../../src/bfd/index.ts')).Bfd);
});

test('the package holds the compiled library with its thread, its leaf rooms, README and licence', () => {
  const files = globSync('**/*.*', { cwd: built });
  expect(new Set(files.filter((file) => file.includes('/')).map((file) => file.split('/')[0]))).toEqual(
    new Set(['bfd', 'lang', 'net', 'system']),
  );
  expect(files).toContain('bfd/worker/thread.js');
  expect(readFileSync(join(built, 'LICENSE'), 'utf8')).toContain('Apache License');
  const { version, dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    version: string;
    dependencies: Record<string, string>;
  };
  const manifest = JSON.parse(readFileSync(join(built, 'package.json'), 'utf8')) as object;
  expect(manifest).toMatchObject({ name: 'herald-bfd', version, dependencies: { koffi: dependencies['koffi'] } });
});

test('every import is inside the package, of Node, or of koffi', () => {
  const foreign = globSync('**/*.{js,d.ts}', { cwd: built }).flatMap((file) => {
    const targets = readFileSync(join(built, file), 'utf8').matchAll(/^\s*(?:import|export)\b[^'";]*?from '([^']+)'/gm);
    return [...targets].map(([, target = '']) => target).filter((target) => !/^(?:\.{1,2}\/|node:|koffi$)/.test(target));
  });
  expect(foreign).toEqual([]);
});

test('the README names the package and has no link to a place outside it', () => {
  const text = readFileSync(join(built, 'README.md'), 'utf8');
  expect(text).toContain("from 'herald-bfd'");
  expect(text).not.toContain('](../');
});

test('plain Node starts the thread, runs a session in it and stops it', () => {
  const program = `
    import { Bfd } from 'herald-bfd';
    const bfd = new Bfd();
    await bfd.started();
    const refused = await bfd.set([{ name: 'one', peer: '192.0.2.1' }, { name: 'two', peer: '192.0.2.1' }]);
    const { sessions } = await bfd.status();
    await bfd.stop();
    console.log(JSON.stringify({ refused: refused.map(({ name }) => name), sessions: sessions.map(({ name, state }) => [name, state]) }));
  `;
  expect(JSON.parse(run(program))).toEqual({ refused: ['two'], sessions: [['one', 'Down']] });
});
