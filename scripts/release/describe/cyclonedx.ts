import { sha256 } from '../files/archive.ts';
import { seconds } from '../oci/image.ts';
import type { Release } from '../release.ts';
import type { Bill, Component } from './components.ts';

/** Writes a bill of materials in CycloneDX 1.6 (https://cyclonedx.org/docs/1.6/json/). */
export function cycloneDx({ name, kind, description, components }: Bill, { version, created, addresses }: Release): string {
  const reference = `herald:${name}`;
  const bill = {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: {
      timestamp: seconds(created),
      tools: { components: [{ type: 'application', name: 'scripts/release of Herald', version }] },
      component: {
        type: kind,
        'bom-ref': reference,
        name,
        version,
        description,
        licenses: [{ license: { id: 'Apache-2.0' } }],
        externalReferences: [{ type: 'website', url: addresses.homepage }],
      },
    },
    components: components.map((one) => componentOf(one)),
    dependencies: [{ ref: reference, dependsOn: components.map(({ purl }) => purl) }],
  };
  return `${JSON.stringify({ ...bill, serialNumber: `urn:uuid:${uuidOf(JSON.stringify(bill))}` }, undefined, 2)}\n`;
}

function componentOf({ kind, name, version, purl, license, digest }: Component): object {
  const [, group, own] = /^(@[^/]+)\/(.+)$/.exec(name) ?? [undefined, undefined, name];
  return {
    type: kind,
    'bom-ref': purl,
    ...(group === undefined ? {} : { group }),
    name: own,
    version,
    ...(digest === undefined ? {} : { hashes: [{ alg: digest.algorithm, content: digest.value }] }),
    ...(license === undefined ? {} : { licenses: [{ expression: license }] }),
    purl,
  };
}

/** A UUID of version 8 (RFC 9562 5.8) from the content: the same content has the same one. */
function uuidOf(text: string): string {
  const digits = sha256(text);
  const variant = ((Number.parseInt(digits[16] ?? '0', 16) & 0x3) | 0x8).toString(16);
  return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-8${digits.slice(13, 16)}-${variant}${digits.slice(17, 20)}-${digits.slice(20, 32)}`;
}
