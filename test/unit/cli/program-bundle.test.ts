import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { root } from './program.ts';

/** The bundle of `npm run build:program`, which the container image runs. test/conformance/container.test.ts runs an agent of it. */
const folder = mkdtempSync(join(tmpdir(), 'herald-bundle-'));
const program = join(folder, 'program');
const node = (...args: readonly string[]): string => execFileSync(process.execPath, args, { encoding: 'utf8', stdio: 'pipe' });
const build = (): string => node(join(root, 'scripts/build-program.ts'), '--folder', program);
const contents = (): Map<string, string> => new Map(readdirSync(program).map((name) => [name, readFileSync(join(program, name), 'utf8')]));

beforeAll(() => {
  build();
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
}, 60_000);

afterAll(() => rmSync(folder, { recursive: true }));

describe('the bundled program', () => {
  test('the program says its version, and explains a Service as the sources do', () => {
    const words = ['explain', 'service', 'shop/web', '-f', join(root, 'examples/fabric')];
    expect(node(join(program, 'herald.js'), '--version')).toBe(node(join(root, 'src/cli/main.ts'), '--version'));
    expect(node(join(program, 'herald.js'), ...words)).toBe(node(join(root, 'src/cli/main.ts'), ...words));
  });

  test.each(['bfd-thread.js', 'l2-thread.js'])('the program starts the thread of %s from a file that is there', (name) => {
    const files = contents();
    expect(files.has(name)).toBe(true);
    expect([...files.values()].some((text) => text.includes(`./${name}`))).toBe(true);
    expect([...files.values()].some((text) => text.includes('worker/thread.'))).toBe(false);
  });

  test('the licences of all bundled packages are beside the program', () => {
    const licences = contents().get('THIRD-PARTY-LICENSES') ?? '';
    const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { readonly dependencies: object };
    const lacking = Object.keys(dependencies).filter((name) => !new RegExp(`^${name} \\d`, 'm').test(licences));
    expect(lacking).toEqual(['koffi']);
  });

  test('the same sources give the same octets', () => {
    const before = contents();
    build();
    expect(contents()).toEqual(before);
  }, 60_000);
});
