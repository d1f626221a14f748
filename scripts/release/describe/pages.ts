import { sha256 } from '../files/archive.ts';
import type { Artifacts, Release } from '../release.ts';

/** Writes the notes of the release: the changes, and where to read on. The page of a release is no page of the repository, so links get an address. */
export function notes({ version, created, addresses }: Release, changes: string): string {
  return `# Herald ${version}

${created.toISOString().slice(0, 10)}. [Install](${addresses.homepage}/docs/how-to/install.md), [upgrade](${addresses.homepage}/docs/explanation/upgrades.md). README.md says how to check each file.

${changes.replaceAll(/\]\((?!https?:|#)/g, `](${addresses.homepage}/`)}
`;
}

export interface Names {
  readonly image: string;
  readonly chart: string;
  readonly chartLayout: string;
  readonly definitions: string;
  readonly besideKubeProxy: string;
  readonly withoutKubeProxy: string;
  readonly provenance: string;
}

export function namesOf(version: string): Names {
  return {
    image: `herald-${version}-image.oci.tar`,
    chart: `herald-chart-${version}.tgz`,
    chartLayout: `herald-chart-${version}.oci.tar`,
    definitions: `herald-${version}-crds.yaml`,
    besideKubeProxy: `herald-${version}-beside-kube-proxy.yaml`,
    withoutKubeProxy: `herald-${version}-without-kube-proxy.yaml`,
    provenance: `herald-${version}.provenance.intoto.json`,
  };
}

/** Writes the README of the folder: each file, and how to check it. */
export function readme(release: Release, { image, chart }: { readonly image: string; readonly chart: string }): string {
  const { version, commit, created, addresses, pinned } = release;
  const names = namesOf(version);
  return `# Herald ${version}

Built from commit ${commit} of ${addresses.source} (${created.toISOString().slice(0, 10)}), with Debian ${pinned.release} as of ${pinned.snapshot}.

| file | content |
|---|---|
| \`${names.image}\` | the image for linux/amd64 and linux/arm64, as an OCI layout |
| \`${names.chart}\` | the Helm chart; \`${names.chartLayout}\` is the same as an OCI artifact for a registry |
| \`${names.besideKubeProxy}\` | all manifests in one file, for nodes with kube-proxy |
| \`${names.withoutKubeProxy}\` | the same for nodes without kube-proxy |
| \`${names.definitions}\` | the definitions alone, which both files contain |
| \`kubectl-herald-linux-amd64.tar.gz\`, \`kubectl-herald-linux-arm64.tar.gz\` | \`kubectl herald\` for Linux, with Node.js inside |
| \`kubectl-herald.tar.gz\` | \`kubectl herald\` for other systems; needs Node.js 24 |
| \`kubectl-herald.krew.yaml\` | its manifest for krew |
| \`herald-bgp-${version}.tgz\`, \`herald-bfd-${version}.tgz\` | the BGP and BFD libraries as npm packages |
| \`*.cdx.json\`, \`*.spdx.json\` | the components of the image and of the plugin, in CycloneDX 1.6 and SPDX 2.3 |
| \`${names.provenance}\` | from what the files were built: an in-toto statement with SLSA provenance |
| \`release-notes.md\` | what changed |
| \`SHA256SUMS\` | the digests of all other files |

## Check the files

All files, against their digests:

\`\`\`sh
sha256sum --check SHA256SUMS
\`\`\`

The signature of SHA256SUMS, if the release has \`SHA256SUMS.sigstore.json\`. Replace the identity by that of the workflow that you trust:

\`\`\`sh
cosign verify-blob SHA256SUMS --bundle SHA256SUMS.sigstore.json --certificate-oidc-issuer https://token.actions.githubusercontent.com \\
  --certificate-identity-regexp '^${addresses.source.replaceAll('.', '\\.')}/'
\`\`\`

The image and the chart in a registry: they have exactly these digests.

\`\`\`sh
oras resolve ${addresses.image}:${version}          # ${image}
oras resolve ${chartRepository(addresses.image)}:${version}   # ${chart}
cosign verify ${addresses.image}@${image} --certificate-oidc-issuer https://token.actions.githubusercontent.com \\
  --certificate-identity-regexp '^${addresses.source.replaceAll('.', '\\.')}/'
\`\`\`

The npm packages: \`npm view herald-bgp@${version} dist.integrity\` is the output of
\`printf 'sha512-%s\\n' "$(openssl dgst -sha512 -binary herald-bgp-${version}.tgz | base64 --wrap=0)"\`; the same for herald-bfd.

That the files are made from the sources: build them yourself, and compare. The same commit always gives the same octets:

\`\`\`sh
git clone ${addresses.source} herald && cd herald && git checkout ${commit}
npm run release -- ${version} --dry-run --image ${addresses.image} \\
  --download ${addresses.download} --source ${addresses.source} --builder ${addresses.builder}
cmp dist-release/SHA256SUMS ../SHA256SUMS
\`\`\`

## Install

\`\`\`sh
kubectl apply --server-side -f ${names.definitions}
kubectl wait --for=condition=Established crd/heraldconfigs.herald.dev
kubectl apply --server-side -f ${names.besideKubeProxy}
\`\`\`

or \`helm install herald ${names.chart} --namespace herald-system --create-namespace\`. Without a registry, load the image on each node:
\`ctr --namespace k8s.io images import ${names.image}\`, with k3s \`k3s ctr images import ${names.image}\`, with kind \`kind load image-archive ${names.image}\`.
[All ways](${addresses.homepage}/docs/how-to/install.md).
`;
}

/** The chart lies beside the image, because one repository cannot hold both under the same tag. */
export function chartRepository(image: string): string {
  return image.includes('/') ? image.replace(/\/([^/]+)$/, '/charts/$1') : `charts/${image}`;
}

/** Returns the lines of SHA256SUMS, sorted by name, as sha256sum reads them. */
export function checksums(artifacts: Artifacts): string {
  const lines = [...artifacts].map(([name, content]) => [name, `${sha256(content)}  ${name}\n`] as const);
  return lines
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([, line]) => line)
    .join('');
}
