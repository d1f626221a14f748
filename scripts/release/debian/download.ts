import { createHash } from 'node:crypto';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { snapshotOf, type PinnedPackage } from './pinned.ts';

/** Downloads with apt's helper, because it uses the proxy that apt uses. */
const helper = '/usr/lib/apt/apt-helper';

/** Where downloaded parts of a release are kept, by their digest. */
export const cache = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'herald/release');

/** Returns the files of the packages, by name of the package. Downloads those that the cache lacks, and checks all of them. */
export function download(packages: readonly PinnedPackage[], snapshot: string): ReadonlyMap<string, string> {
  mkdirSync(cache, { recursive: true });
  const missing = packages.filter((one) => !isComplete(one));
  const mirror = missing.length > 0 ? mirrorOfDebian() : undefined;
  if (mirror !== undefined) fetchAll(missing.map((one) => [urlAt(mirror, one), one]));
  // A mirror keeps only the newest version of a package. snapshot.debian.org keeps every version.
  const gone = missing.filter((one) => !isComplete(one));
  fetchAll(gone.map((one) => [snapshotOf(one, snapshot), one]));
  const failed = packages.filter((one) => !isComplete(one));
  if (failed.length > 0) {
    const [first] = failed;
    throw new Error(
      `${failed.length} packages of Debian could not be downloaded, the first is ${first?.name} ${first?.version}: set HERALD_DEBIAN_MIRROR to a mirror, or run node scripts/release/debian/update.ts to take newer versions`,
    );
  }
  return new Map(packages.map((one) => [one.name, pathOf(one)]));
}

function pathOf({ sha256 }: PinnedPackage): string {
  return join(cache, `${sha256}.deb`);
}

function isComplete(one: PinnedPackage): boolean {
  const path = pathOf(one);
  return existsSync(path) && createHash('sha256').update(readFileSync(path)).digest('hex') === one.sha256;
}

function urlAt(mirror: string, { archive, file }: PinnedPackage): string {
  return `${mirror.replace(/\/debian\/?$/, `/${archive}`)}/${file}`;
}

/** Downloads the files one after the other. A failure is found afterwards, by the digest. */
function fetchAll(files: readonly (readonly [string, PinnedPackage])[]): void {
  for (const [url, one] of files) {
    const path = pathOf(one);
    const building = `${path}.${process.pid}`;
    if (spawnSync(helper, ['download-file', url, building, `SHA256:${one.sha256}`], { stdio: 'ignore' }).status === 0)
      renameSync(building, path);
  }
}

/** Returns the mirror of $HERALD_DEBIAN_MIRROR or of this machine's apt. */
export function mirrorOfDebian(): string | undefined {
  const named = process.env['HERALD_DEBIAN_MIRROR'];
  if (named !== undefined && named !== '') return named.replace(/\/$/, '');
  try {
    const format = ['--format', '$(ORIGIN) $(LABEL) $(REPO_URI)', 'Created-By: Packages'];
    const lines = execFileSync('apt-get', ['indextargets', ...format], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).split(
      '\n',
    );
    return lines
      .flatMap((line) => /^Debian Debian (\S+)$/.exec(line)?.[1] ?? [])
      .at(0)
      ?.replace(/\/$/, '');
  } catch {
    return undefined;
  }
}

/** Downloads a file without a known digest, for debian/update.ts. */
export function fetchText(url: string, target: string): Buffer {
  // apt's own user may not write into the directory.
  execFileSync(helper, ['-o', 'APT::Sandbox::User=root', 'download-file', url, target], { stdio: ['ignore', 'ignore', 'inherit'] });
  return readFileSync(target);
}
