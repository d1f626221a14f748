import { cpSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { run, type CommandResult } from '../lab/command.ts';

export const root = join(import.meta.dirname, '../..');

/** The version that the tests release, whatever the sources have. */
export const version = '99.0.0';

/** Paths of this machine that no file may contain: the folders of the build, and that of the packages. */
export const traces = ['/herald-release-', `${root}/`];

const author = { name: 'Test', email: 'test@example.org', date: '2026-01-02T03:04:05Z' };

/** The time of the commit, which all files have. */
export const committed = new Date(author.date);

/**
 * Makes a repository in a folder, with one commit of the files of the working tree or of another such repository. Every repository of the same
 * files has the same commit.
 */
export async function clone(folder: string, from = root): Promise<void> {
  const list = ['ls-files', '--cached', '--others', '--exclude-standard', '-z'];
  const { stdout } = await run(['git', '-c', 'safe.directory=*', ...list], { cwd: from });
  // A file that was deleted and not committed yet is in the list.
  for (const path of stdout.split('\0').filter((name) => name !== '' && existsSync(join(from, name)))) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    cpSync(join(from, path), join(folder, path), { verbatimSymlinks: true, recursive: true });
  }
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  await git(folder, 'init', '--quiet', '--initial-branch=main');
  writeFileSync(join(folder, '.git/info/exclude'), 'node_modules\n');
  await git(folder, 'add', '--all');
  await git(folder, 'commit', '--quiet', '--message', 'Everything');
}

export async function git(folder: string, ...args: readonly string[]): Promise<void> {
  const { name, email, date } = author;
  const env = {
    GIT_AUTHOR_NAME: name,
    GIT_AUTHOR_EMAIL: email,
    GIT_AUTHOR_DATE: date,
    GIT_COMMITTER_NAME: name,
    GIT_COMMITTER_EMAIL: email,
    GIT_COMMITTER_DATE: date,
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_CONFIG_NOSYSTEM: '1',
  };
  await run(['git', ...args], { cwd: folder, env });
}

/** Runs the release script of a repository, as `npm run release` does. `lead` is put before the command. */
export function release(
  folder: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  lead: readonly string[] = [],
): Promise<CommandResult> {
  const argv = [...lead, process.execPath, join(folder, 'scripts/release/main.ts'), ...args];
  return run(argv, { cwd: folder, env, timeoutMs: 1_800_000, check: false });
}
