import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defaultMinor, type Minor } from '../programs.ts';

/** The identifiers in test/utils/image/manifest.go of the images that the network tests use. The DNS image was renamed in 1.36. */
const wanted = [
  'Pause',
  'Agnhost',
  'BusyBox',
  'DistrolessIptables',
  'GlibcDnsTesting',
  'JessieDnsutils',
  'Nginx',
  'RegressionIssue74839',
] as const;
export type TestImage = (typeof wanted)[number];

/** The directory of the source of k8s.io/kubernetes, which Go downloads. */
export function kubernetesSource(minor: Minor): string {
  const cwd = join(import.meta.dirname, '../kubernetes');
  const env = { ...process.env, GOFLAGS: '-mod=mod' };
  return execFileSync('go', ['list', `-modfile=${minor}.mod`, '-m', '-f', '{{.Dir}}', 'k8s.io/kubernetes'], {
    cwd,
    env,
    encoding: 'utf8',
  }).trim();
}

/** Returns the names with registry and tag under which the e2e tests of this minor ask for their images. */
export function imageNames(minor: Minor = defaultMinor): Readonly<Partial<Record<TestImage, string>>> {
  return namesIn(readFileSync(join(kubernetesSource(minor), 'test/utils/image/manifest.go'), 'utf8'));
}

/** Reads names from the Go source of manifest.go: the table of registries, and one assignment for each image. */
export function namesIn(source: string): Readonly<Partial<Record<TestImage, string>>> {
  const registries = new Map([...source.matchAll(/^\s+(\w+Registry):\s+"([^"]+)",$/gm)].map(([, name, value]) => [name, value]));
  const images = new Map(
    [...source.matchAll(/configs\[(\w+)\]\s+= Config\{list\.(\w+), "([^"]+)", "([^"]+)"\}/g)].map(([, image, registry, name, tag]) => [
      image,
      `${registries.get(registry)}/${name}:${tag}`,
    ]),
  );
  return Object.fromEntries(wanted.flatMap((image) => (images.has(image) ? [[image, images.get(image)]] : [])));
}
