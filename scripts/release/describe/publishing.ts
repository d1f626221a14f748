import type { Release } from '../release.ts';
import { chartRepository, namesOf } from './pages.ts';

/**
 * Returns the commands that publish a release, for a person or a workflow. `image` and `chart` are digests. Signing is without keys: cosign
 * asks for the identity of the caller.
 */
export function publishing(
  { version, addresses }: Pick<Release, 'version' | 'addresses'>,
  { image, chart }: { readonly image: string; readonly chart: string },
  folder: string,
): string {
  const names = namesOf(version);
  const repository = chartRepository(addresses.image);
  const predicate = 'provenance.predicate.json';
  const prerelease = version.includes('-') ? ' --prerelease' : '';
  const tag = version.includes('-') ? ' --tag next' : '';
  return `cd ${folder}
sha256sum --check SHA256SUMS
oras cp --from-oci-layout ${names.image}:${version} ${addresses.image}:${version}
oras cp --from-oci-layout ${names.chartLayout}:${version} ${repository}:${version}
cosign sign --yes --recursive ${addresses.image}@${image}
cosign sign --yes ${repository}@${chart}
jq .predicate ${names.provenance} >../${predicate}
cosign attest --yes --type slsaprovenance1 --predicate ../${predicate} ${addresses.image}@${image}
cosign sign-blob --yes --bundle SHA256SUMS.sigstore.json SHA256SUMS
npm publish --access public${tag} ./herald-bgp-${version}.tgz
npm publish --access public${tag} ./herald-bfd-${version}.tgz
gh release create v${version} --title 'Herald ${version}' --notes-file release-notes.md${prerelease} -- *
`;
}
