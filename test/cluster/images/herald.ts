import { createHash } from 'node:crypto';
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { run } from '../../lab/command.ts';
import { stagesOf } from '../../conformance/container/containerfile.ts';
import { cacheDirectory, clusterProgram } from '../programs.ts';

const project = join(import.meta.dirname, '../../..');

/** The Debian root that is the Containerfile's BASE. scripts/setup-cluster.sh makes it. */
const debian = '/var/cache/herald/container';
const authorities = '/etc/ssl/certs/ca-certificates.crt';

const prefix = 'localhost/herald:';

export interface HeraldImage {
  /** With registry and tag: the tag is a digest of the files that the image is built from. */
  readonly name: string;
  /** A docker-archive for `ctr images import`. */
  readonly path: string;
}

/**
 * Returns Herald's image, built from the Containerfile by buildah, and builds it when there is none of these files. buildah keeps the layers of
 * unchanged instructions, such as the installation of packages, in a store of its own.
 */
export async function heraldImage(context: string = project): Promise<HeraldImage> {
  const digest = digestOf(context);
  const name = `${prefix}${digest}`;
  const directory = join(cacheDirectory, 'images');
  const path = join(directory, `herald-${digest}.tar`);
  if (existsSync(path)) {
    // removeOld looks at the time of access. By the time of the last change clusters know an archive that their nodes have unpacked.
    utimesSync(path, new Date(), statSync(path).mtime);
    return { name, path };
  }
  mkdirSync(directory, { recursive: true });
  const work = mkdtempSync(join(directory, 'herald-'));
  try {
    const base = await baseImage();
    await buildah(['build', '--layers', ...inThisNetwork, ...(await settings(work)), `--build-arg=BASE=${base}`, `--tag=${name}`, context]);
    await buildah(['push', '--quiet', name, `docker-archive:${work}/image:${name}`]);
    renameSync(join(work, 'image'), path);
    await removeOld();
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  return { name, path };
}

/** chroot needs neither a container runtime nor rights to mount. */
const inThisNetwork = ['--isolation=chroot', '--network=host'];

async function buildah(args: readonly string[]): Promise<string> {
  const store = [`--root=${join(cacheDirectory, 'containers')}`, '--runroot=/run/herald-cluster/containers'];
  const { stdout } = await run([clusterProgram('buildah'), ...store, ...args], { timeoutMs: 1_800_000 });
  return stdout.trim();
}

/** Returns the name of an image that is the Debian root, and makes it when the root changed. */
async function baseImage(): Promise<string> {
  const name = `localhost/herald-base:${timeOfDebian()}`;
  const images = await buildah(['images', '--format', '{{.Name}}:{{.Tag}}']);
  if (images.split('\n').includes(name)) return name;
  const container = await buildah(['from', 'scratch']);
  await buildah(['copy', '--quiet', container, debian, '/']);
  await buildah(['commit', '--quiet', '--rm', container, name]);
  return name;
}

/** When the root was made, in milliseconds. */
function timeOfDebian(): number {
  const stamp = join(debian, '.herald-packages');
  if (!existsSync(stamp)) throw new Error(`there is no Debian root at ${debian}: sh scripts/setup-cluster.sh`);
  return Math.trunc(statSync(stamp).mtimeMs);
}

/** Options that give the builder's npm the registry and the authorities of this machine's npm, and leave no trace in the image. */
async function settings(work: string): Promise<string[]> {
  const { stdout } = await run(['npm', 'config', 'get', 'registry']);
  const trusted = '/run/authorities.crt';
  const ours = existsSync(authorities);
  const npmrc = join(work, 'npmrc');
  writeFileSync(npmrc, `registry=${stdout.trim()}\n${ours ? `cafile=${trusted}\n` : ''}`);
  return [`--volume=${npmrc}:/root/.npmrc:ro`, ...(ours ? [`--volume=${authorities}:${trusted}:ro`] : [])];
}

/** Other checkouts of the project use the same store, maybe now. */
const keptForMs = 24 * 3_600_000;

/** Removes images that are older than a day, the layers that only they have, and their archives. */
async function removeOld(): Promise<void> {
  const oldest = Date.now() - keptForMs;
  const images = await buildah(['images', '--format', '{{.Name}}:{{.Tag}} {{.CreatedAtRaw}}']);
  // "localhost/herald:0123    2026-01-01 00:00:00.123 +0000 UTC"
  const named = images.split('\n').map((line) => line.split(/\s+/));
  const old = named.filter(
    ([name = '', date, time = '']) => name.startsWith(prefix) && Date.parse(`${date}T${time.slice(0, 8)}Z`) < oldest,
  );
  for (const [name = ''] of old) await buildah(['rmi', name]);
  for (const archive of globSync(join(cacheDirectory, 'images/herald-*.tar'))) if (statSync(archive).atimeMs < oldest) rmSync(archive);
}

/** The digest of the Debian root, the Containerfile and every file that it copies. */
function digestOf(context: string): string {
  const containerfile = readFileSync(join(context, 'Containerfile'), 'utf8');
  const copied = stagesOf(containerfile)
    .flatMap((stage) => stage.instructions)
    .filter(({ name, value }) => name === 'COPY' && !value.startsWith('--from'))
    .flatMap(({ value }) => value.split(/\s+/).slice(0, -1));
  const files = copied.flatMap((path) => (statSync(join(context, path)).isDirectory() ? filesBelow(context, path) : [path]));
  const digest = createHash('sha256').update(`${timeOfDebian()}\n${containerfile}`);
  for (const file of [...new Set(files)].toSorted()) digest.update(`${file}\n`).update(readFileSync(join(context, file)));
  return digest.digest('hex').slice(0, 16);
}

function filesBelow(context: string, directory: string): string[] {
  return globSync(`${directory}/**/*`, { cwd: context }).filter((file) => statSync(join(context, file)).isFile());
}
