/**
 * Chooses the newest versions of the packages of Debian that the image contains, and writes them into packages.json beside this file:
 *
 *   node scripts/release/debian/update.ts
 *
 * Needs apt, dpkg, xz and gpgv, and debian-archive-keyring for the signatures of Debian. Run it before a release, and when an advisory names a
 * package. HERALD_DEBIAN_MIRROR names the mirror; the default is the mirror of this machine's apt.
 */
import { createHash } from 'node:crypto';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { fetchText, mirrorOfDebian } from './download.ts';
import { closure, readPackageList, stanzaOf, type Candidate } from './package-lists.ts';
import { architectures, leftOut, pinnedFile, roots, type Architecture, type PinnedPackage, type PinnedPackages } from './pinned.ts';

const release = 'trixie';
const suites = [
  { archive: 'debian', suite: release },
  { archive: 'debian', suite: `${release}-updates` },
  { archive: 'debian-security', suite: `${release}-security` },
];
const keyring = '/usr/share/keyrings/debian-archive-keyring.gpg';

const mirror = mirrorOfDebian();
if (mirror === undefined) {
  console.error('apt has no Debian mirror: set HERALD_DEBIAN_MIRROR');
  process.exit(1);
}
const folder = mkdtempSync(join(tmpdir(), 'herald-debian-'));
try {
  const dates: Date[] = [];
  const found: Record<Architecture, (Candidate & { readonly archive: string })[]> = { amd64: [], arm64: [] };
  for (const { archive, suite } of suites) {
    const base = `${mirror.replace(/\/debian$/, `/${archive}`)}/dists/${suite}`;
    const { date, digests } = readRelease(base);
    dates.push(date);
    for (const architecture of architectures) {
      console.log(`${suite}, ${architecture}`);
      const list = readList(base, `main/binary-${architecture}/Packages.xz`, digests);
      found[architecture].push(...readPackageList(list).map((one) => Object.assign(one, { archive })));
    }
  }
  const snapshot = new Date(Math.max(...dates.map(Number))).toISOString().replace('.000', '');
  const packages: PinnedPackages['packages'] = { amd64: choose(found.amd64), arm64: choose(found.arm64) };
  const pinned: PinnedPackages = { release, snapshot, packages };
  writeFileSync(pinnedFile, `${JSON.stringify(pinned, undefined, 2)}\n`);
  for (const architecture of architectures) {
    const size = packages[architecture].reduce((sum, one) => sum + one.size, 0);
    console.log(`${architecture}: ${packages[architecture].length} packages, ${(size / 1_000_000).toFixed(1)} MB`);
  }
} finally {
  rmSync(folder, { recursive: true });
}

/** Reads InRelease after a check of its signature: its date, and the digests of all lists. */
function readRelease(base: string): { readonly date: Date; readonly digests: ReadonlyMap<string, string> } {
  const path = join(folder, 'InRelease');
  fetchText(`${base}/InRelease`, path);
  const text = execFileSync('gpgv', ['--keyring', keyring, '--output', '-', path], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const fields = stanzaOf(text);
  const lines = (fields.get('SHA256') ?? '').matchAll(/^ ([0-9a-f]{64}) +\d+ (\S+)$/gm);
  return { date: new Date(fields.get('Date') ?? ''), digests: new Map([...lines].map(([, digest = '', name = '']) => [name, digest])) };
}

function readList(base: string, name: string, digests: ReadonlyMap<string, string>): string {
  const content = fetchText(`${base}/${name}`, join(folder, 'Packages.xz'));
  if (createHash('sha256').update(content).digest('hex') !== digests.get(name))
    throw new Error(`${base}/${name} has another digest than its InRelease says: the mirror is being updated; try again`);
  return execFileSync('xz', ['--decompress', '--stdout'], { input: content, encoding: 'utf8', maxBuffer: 2 ** 30 });
}

function choose(candidates: readonly (Candidate & { readonly archive: string })[]): PinnedPackage[] {
  const chosen = closure(candidates, Object.keys(roots), new Set(Object.keys(leftOut)), compareVersions);
  return chosen.map(({ name, version, source, archive, file, size, sha256 }) => ({ name, version, source, archive, file, size, sha256 }));
}

/** The order of Debian's versions is dpkg's. */
function compareVersions(one: string, other: string): number {
  const is = (relation: string): boolean => spawnSync('dpkg', ['--compare-versions', one, relation, other]).status === 0;
  return is('lt') ? -1 : is('gt') ? 1 : 0;
}
