import { sha256 } from '../files/archive.ts';
import { seconds } from '../oci/image.ts';
import type { Release } from '../release.ts';
import type { Bill, Component } from './components.ts';

/** Writes a bill of materials in SPDX 2.3 (https://spdx.github.io/spdx-spec/v2.3/). */
export function spdx({ name, kind, description, components }: Bill, { version, created, addresses }: Release): string {
  const subject = 'SPDXRef-Subject';
  const packages = [
    {
      SPDXID: subject,
      name,
      versionInfo: version,
      description,
      homepage: addresses.homepage,
      primaryPackagePurpose: kind.toUpperCase(),
      downloadLocation: 'NOASSERTION',
      filesAnalyzed: false,
      licenseConcluded: 'NOASSERTION',
      licenseDeclared: 'Apache-2.0',
      copyrightText: 'NOASSERTION',
    },
    ...components.map((one) => packageOf(one)),
  ];
  return `${JSON.stringify(
    {
      spdxVersion: 'SPDX-2.3',
      dataLicense: 'CC0-1.0',
      SPDXID: 'SPDXRef-DOCUMENT',
      name,
      documentNamespace: `${addresses.homepage}/spdx/${name}-${sha256(JSON.stringify([packages, seconds(created)]))}`,
      creationInfo: { created: seconds(created), creators: [`Tool: herald-scripts-release-${version}`] },
      packages,
      relationships: [
        { spdxElementId: 'SPDXRef-DOCUMENT', relationshipType: 'DESCRIBES', relatedSpdxElement: subject },
        ...components.map((one) => ({ spdxElementId: subject, relationshipType: 'CONTAINS', relatedSpdxElement: idOf(one) })),
      ],
    },
    undefined,
    2,
  )}\n`;
}

function packageOf(one: Component): object {
  const { kind, name, version, purl, license, digest } = one;
  return {
    SPDXID: idOf(one),
    name,
    versionInfo: version,
    primaryPackagePurpose: kind.toUpperCase(),
    downloadLocation: 'NOASSERTION',
    filesAnalyzed: false,
    ...(digest === undefined ? {} : { checksums: [{ algorithm: digest.algorithm.replace('-', ''), checksumValue: digest.value }] }),
    licenseConcluded: 'NOASSERTION',
    licenseDeclared: license ?? 'NOASSERTION',
    copyrightText: 'NOASSERTION',
    externalRefs: [{ referenceCategory: 'PACKAGE-MANAGER', referenceType: 'purl', referenceLocator: purl }],
  };
}

/** Identifiers may have letters, digits, "." and "-" only, so different purls could get the same one without the digest. */
function idOf({ name, purl }: Component): string {
  return `SPDXRef-${name.replaceAll(/[^A-Za-z0-9.-]+/g, '-').replace(/^-/, '')}-${sha256(purl).slice(0, 12)}`;
}
