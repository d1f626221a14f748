import { readFileSync } from 'node:fs';

/** A package of package-lock.json. */
export interface LockedPackage {
  /** Where npm installs it: node_modules/a/node_modules/b. */
  readonly place: string;
  readonly name: string;
  readonly version: string;
  /** "sha512-" and the digest in base64. */
  readonly integrity: string;
  /** An SPDX expression, if the author stated one. */
  readonly license: string | undefined;
  /** npm leaves it out where it does not fit the machine. */
  readonly optional: boolean;
}

interface Fields {
  readonly version?: string;
  readonly integrity?: string;
  readonly license?: string;
  readonly optional?: boolean;
  readonly link?: boolean;
}

/** Reads package-lock.json, or node_modules/.package-lock.json, which lists what is installed. Leaves out the workspaces: they are this repository. */
export function readLockFile(path: string): LockedPackage[] {
  const { packages } = JSON.parse(readFileSync(path, 'utf8')) as { readonly packages: Readonly<Record<string, Fields>> };
  return Object.entries(packages)
    .filter(([place, { link = false }]) => place.startsWith('node_modules/') && !link)
    .map(([place, { version = '', integrity = '', license, optional = false }]) => {
      return { place, name: place.split('node_modules/').at(-1) ?? '', version, integrity, license, optional };
    });
}

/** Returns the packages of which another version is installed than package-lock.json says, or none where one is needed. */
export function differences(locked: readonly LockedPackage[], installed: readonly LockedPackage[]): string[] {
  const there = new Map(installed.map((one) => [one.place, one]));
  return locked
    .filter(({ place, optional, version, integrity }) => {
      const found = there.get(place);
      return found === undefined ? !optional : found.version !== version || found.integrity !== integrity;
    })
    .map(({ name, version }) => `${name} ${version}`);
}

/** The package as a purl. */
export function purlOfPackage({ name, version }: Pick<LockedPackage, 'name' | 'version'>): string {
  return `pkg:npm/${name.replace('@', '%40')}@${version}`;
}

/** The digest of an integrity in hexadecimal. */
export function sha512Of({ integrity }: Pick<LockedPackage, 'integrity'>): string {
  return Buffer.from(integrity.replace(/^sha512-/, ''), 'base64').toString('hex');
}
