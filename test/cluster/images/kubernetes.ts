import { createHash } from 'node:crypto';
import { copyFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../../lab/command.ts';
import { buildDirectory, cacheDirectory, clusterProgram, type Minor } from '../programs.ts';
import { writeArchive, type ImageContents } from './archive.ts';
import { imageNames, kubernetesSource, type TestImage } from './names.ts';

/** The Debian root of agnhost's image, with the tools that tests call in it. scripts/setup-cluster.sh makes it. */
const debian = '/var/cache/herald/cluster-agnhost';

/** Files of Debian that no test reads. */
const left = [
  './usr/share/doc',
  './usr/share/man',
  './usr/share/info',
  './usr/share/locale',
  './var/cache',
  './var/lib/apt',
  './var/lib/dpkg',
];

/** Scripts of this folder that do what tests ask of a program, by their paths in the image. */
const standIns = { wget: 'usr/bin/wget', coredns: 'coredns' } as const;

/** A change of how images are made here needs another number: archives are kept by the digest of their inputs. */
const recipe = 1;

export interface ImageArchive {
  /** Every name that `ctr images import` gives the images of the archive. */
  readonly names: readonly string[];
  readonly path: string;
}

/**
 * Returns an archive with the images that Kubernetes' network tests use, under the names that they ask for, and makes it when there is none
 * of these inputs. agnhost, pause and regression-issue-74839 are built from the source of Kubernetes; agnhost's stands in for the other
 * images, of which the tests only use a shell and tools.
 */
export async function kubernetesImages(minor: Minor): Promise<ImageArchive> {
  const names = imageNames(minor);
  const all = Object.values(names);
  const directory = join(cacheDirectory, 'images');
  const path = join(directory, `kubernetes-${minor}-${digestOf(minor, names)}.tar`);
  if (existsSync(path)) return { names: all, path };
  mkdirSync(directory, { recursive: true });
  const work = mkdtempSync(join(directory, 'layers-'));
  try {
    const [base, tools, pause, regression] = ['base', 'tools', 'pause', 'regression'].map((name) => join(work, `${name}.tar`)) as [
      string,
      string,
      string,
      string,
    ];
    await tar(base, debian, left);
    await tar(tools, await toolsDirectory(work, minor));
    await tar(pause, await pauseDirectory(work, minor));
    await tar(regression, programDirectory(work, clusterProgram('regression-issue-74839', minor)));
    const named = (image: TestImage): string[] => (names[image] === undefined ? [] : [names[image]]);
    const others: readonly TestImage[] = ['BusyBox', 'DistrolessIptables', 'GlibcDnsTesting', 'JessieDnsutils', 'Nginx'];
    const images: readonly ImageContents[] = [
      { names: named('Pause'), layers: [pause], entrypoint: ['/pause'], user: '65535:65535' },
      { names: named('Agnhost'), layers: [base, tools], entrypoint: ['/agnhost'], command: ['pause'] },
      { names: others.flatMap(named), layers: [base, tools], command: ['/agnhost', 'pause'] },
      { names: named('RegressionIssue74839'), layers: [regression], entrypoint: ['/regression-issue-74839'] },
    ];
    await writeArchive(path, images);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  return { names: all, path };
}

function digestOf(minor: Minor, names: object): string {
  const stamp = join(debian, '.herald-packages');
  if (!existsSync(stamp)) throw new Error(`there is no Debian root at ${debian}: sh scripts/setup-cluster.sh ${minor}`);
  const { mtimeMs } = statSync(stamp);
  const scripts = Object.keys(standIns).map((name) => readFileSync(join(import.meta.dirname, name), 'utf8'));
  const inputs = JSON.stringify([recipe, buildDirectory(minor), mtimeMs, scripts, names]);
  return createHash('sha256').update(inputs).digest('hex').slice(0, 16);
}

/** What agnhost's image has besides Debian: see test/images/agnhost/Dockerfile. */
async function toolsDirectory(work: string, minor: Minor): Promise<string> {
  const root = join(work, 'tools');
  for (const directory of ['uploads', 'usr/bin', 'var/cache', 'var/lib/dpkg']) mkdirSync(join(root, directory), { recursive: true });
  copyFileSync(clusterProgram('agnhost', minor), join(root, 'agnhost'));
  symlinkSync('agnhost', join(root, 'agnhost-2'));
  const porter = join(kubernetesSource(minor), 'test/images/agnhost/porter');
  for (const file of ['localhost.crt', 'localhost.key']) cpSync(join(porter, file), join(root, file), { mode: 0 });
  for (const [name, path] of Object.entries(standIns)) copyFileSync(join(import.meta.dirname, name), join(root, path));
  await run(['chmod', '-R', 'u=rwX,go=rX', root]);
  return root;
}

async function pauseDirectory(work: string, minor: Minor): Promise<string> {
  const root = join(work, 'pause');
  mkdirSync(root);
  const source = join(kubernetesSource(minor), 'build/pause/linux/pause.c');
  await run(['gcc', '-Os', '-static', '-s', '-DVERSION=herald', '-o', join(root, 'pause'), source]);
  return root;
}

function programDirectory(work: string, program: string): string {
  const root = join(work, 'regression');
  mkdirSync(root);
  copyFileSync(program, join(root, 'regression-issue-74839'));
  return root;
}

async function tar(file: string, directory: string, excluded: readonly string[] = []): Promise<void> {
  const options = ['--numeric-owner', '--owner=0', '--group=0', '--sort=name', ...excluded.map((path) => `--exclude=${path}/*`)];
  await run(['tar', ...options, '-C', directory, '-cf', file, '.'], { timeoutMs: 300_000 });
}
