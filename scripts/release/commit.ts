import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { readTar } from './files/read-tar.ts';

/** The commit that is released. */
export interface Commit {
  readonly id: string;
  /** The committer's time. Every file of the release has it. */
  readonly time: Date;
  /** Paths that differ from the commit, also new ones. */
  readonly changed: readonly string[];
  /** All tags of versions ("v1.2.3"), and whether they name this commit. */
  readonly tags: readonly { readonly name: string; readonly here: boolean }[];
}

export function readCommit(root: string): Commit {
  const git = (...args: readonly string[]): string => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim();
  const lines = (text: string): string[] => text.split('\n').filter((line) => line !== '');
  const here = new Set(lines(git('tag', '--points-at', 'HEAD')));
  return {
    id: git('rev-parse', 'HEAD'),
    time: new Date(Number(git('show', '--no-patch', '--format=%ct', 'HEAD')) * 1000),
    changed: lines(git('status', '--porcelain')),
    tags: lines(git('tag', '--list', 'v[0-9]*')).map((name) => ({ name, here: here.has(name) })),
  };
}

/**
 * Writes the files of the commit into a folder, with the version of the release and the packages of the repository beside them. Files that git
 * ignores, such as dist/, are not there.
 */
export function stage(root: string, commit: string, version: string, folder: string): void {
  const archive = execFileSync('git', ['archive', '--format=tar', commit], { cwd: root, maxBuffer: 2 ** 30 });
  for (const [path, node] of readTar(archive)) {
    const target = join(folder, path);
    mkdirSync(dirname(target), { recursive: true });
    if (node.kind === 'file') writeFileSync(target, node.content, { mode: node.mode & 0o100 ? 0o755 : 0o644 });
    else if (node.kind === 'link') symlinkSync(node.target, target);
  }
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  const before = (JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { readonly version: string }).version;
  for (const [path, lines] of Object.entries(placesOfVersion)) {
    const target = join(folder, path);
    writeFileSync(target, withVersion(path, readFileSync(target, 'utf8'), { lines, before, after: version }));
  }
}

/** Every place of the version in a file that a release contains: the text before it on its line. */
export const placesOfVersion: Readonly<Record<string, readonly string[]>> = {
  'package.json': ['"version": "'],
  ...Object.fromEntries(
    ['src/bgp', 'src/bfd', 'src/l2', 'providers/aws', 'console'].map((folder) => [`${folder}/package.json`, ['"version": "']]),
  ),
  'src/model/objects/version.ts': ["export const version = '"],
  'manifests/base/controller.yaml': ['image: herald:'],
  'manifests/base/agent.yaml': ['image: herald:'],
  'manifests/chart/Chart.yaml': ['version: ', 'appVersion: '],
};

export interface Substitution {
  readonly lines: readonly string[];
  readonly before: string;
  readonly after: string;
}

/** Replaces the version where a line begins with one of `lines` and the version. Throws when that is not exactly one line. */
export function withVersion(path: string, text: string, { lines, before, after }: Substitution): string {
  return lines.reduce((all, line) => {
    const beginning = `${line}${before}`;
    const isPlace = (one: string): boolean =>
      one.trimStart().startsWith(beginning) && !/[\w.-]/.test(one.trimStart()[beginning.length] ?? '');
    const places = all.split('\n').filter((one) => isPlace(one));
    if (places.length !== 1) throw new Error(`${path}: one line should begin with ${beginning}, and ${places.length} do`);
    return all
      .split('\n')
      .map((one) => (isPlace(one) ? one.replace(beginning, `${line}${after}`) : one))
      .join('\n');
  }, text);
}
