import { architectures, purlOf, snapshotOf } from '../debian/pinned.ts';
import { sha256 } from '../files/archive.ts';
import { purlOfPackage, sha512Of } from '../npm/lock-file.ts';
import { machines } from '../parts/image.ts';
import type { Artifacts, Release } from '../release.ts';

/** Something from which the release was made (https://slsa.dev/spec/v1.0/provenance). */
interface ResourceDescriptor {
  readonly uri: string;
  readonly digest: Readonly<Record<string, string>>;
  readonly downloadLocation?: string;
}

/** A subject with a digest that is not that of a file, such as the image. */
export interface Subject {
  readonly name: string;
  readonly sha256: string;
}

/** docs/reference/release.md says what the parameters mean. */
export const buildType = (homepage: string): string => `${homepage}/docs/reference/release.md#build-type-v1`;

/**
 * Writes the provenance of a release: an in-toto statement with a predicate of SLSA 1.0, without a signature. It has no time of the build and no
 * number of a run, so that every build of the commit gives the same octets.
 */
export function provenance(release: Release, artifacts: Artifacts, further: readonly Subject[]): string {
  const { version, commit, addresses } = release;
  const files = [...artifacts].map(([name, content]) => ({ name, sha256: sha256(content) }));
  const subjects = [...further, ...files].map((one) => ({ name: one.name, digest: { sha256: one.sha256 } }));
  const statement = {
    _type: 'https://in-toto.io/Statement/v1',
    subject: subjects,
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType: buildType(addresses.homepage),
        externalParameters: { version, image: addresses.image, download: addresses.download, source: addresses.source },
        internalParameters: {},
        resolvedDependencies: [{ uri: `git+${addresses.source}`, digest: { gitCommit: commit } }, ...dependencies(release)],
      },
      runDetails: { builder: { id: addresses.builder } },
    },
  };
  return `${JSON.stringify(statement, undefined, 2)}\n`;
}

/** The packages of Debian in the image, and every package of npm that was there, which includes the compilers. */
function dependencies({ pinned, locked, installed }: Release): ResourceDescriptor[] {
  const debian = architectures.flatMap((architecture) =>
    pinned.packages[architecture].map((one) => ({
      uri: purlOf(one, architecture, pinned.release),
      digest: { sha256: one.sha256 },
      downloadLocation: snapshotOf(one, pinned.snapshot),
    })),
  );
  const carried = new Set(Object.values(machines).flatMap((machine) => [`node-linux-${machine}`, `@koromix/koffi-linux-${machine}`]));
  const npm = [...installed, ...locked.filter(({ name }) => carried.has(name))].map((one) => ({
    uri: purlOfPackage(one),
    digest: { sha512: sha512Of(one) },
  }));
  const unique = new Map([...debian, ...npm].map((one) => [one.uri, one]));
  return [...unique.values()].toSorted((one, other) => (one.uri < other.uri ? -1 : 1));
}
