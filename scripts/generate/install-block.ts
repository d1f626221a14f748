import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { version } from '../../src/model/objects/version.ts';
import { chartRepository, namesOf } from '../release/describe/pages.ts';
import { publishedImage } from '../release/published.ts';

const root = join(import.meta.dirname, '../..');

/** The pages with the commands that install Herald, from a clone and from a published release. Tests run those of the quick start. */
export const pagesWithInstallation = ['README.md', 'docs/quick-start.md', 'docs/how-to/home-lab.md'] as const;

const begin = '<!-- npm run generate writes the commands of installation, until the next mark -->\n';
const end = '<!-- end of the commands of installation -->\n';

/** Returns each page with the commands of this version. Throws when a page does not have both marks, once each. */
export function pagesWithCommands(): [path: string, content: string][] {
  return pagesWithInstallation.map((path) => {
    const commands = installation({ version, publishedImage }, path === 'docs/quick-start.md');
    return [path, withCommands(path, readFileSync(join(root, path), 'utf8'), commands)];
  });
}

export function withCommands(path: string, page: string, commands: string): string {
  const [before, rest, ...others] = page.split(begin);
  const [, after, ...more] = (rest ?? '').split(end);
  if (before === undefined || after === undefined || others.length + more.length > 0)
    throw new Error(`${path}: the marks around the commands of installation must be there once each: ${begin}${end}`);
  return `${before}${begin}\n${commands}\n${end}${after}`;
}

/**
 * Returns the Markdown of the commands. `publishedImage` is empty when no release is published. `isTested`: tests run the commands from a clone,
 * and compare their output.
 */
export function installation(release: { readonly version: string; readonly publishedImage: string }, isTested: boolean): string {
  const fence = '```';
  const notRun = ' not-run: image, the quick start has the same block';
  const fromClone = `In a clone of this repository, on Linux for x64 with git, npm and dpkg-deb. The build takes some minutes, and downloads 140 MB once. The
block puts the image on each node, by \`ssh\` except with kind, and needs no registry:

${fence}sh${isTested ? '' : notRun}
${cloneScript(release.version)}${fence}
${isTested ? `\n${fence}text\n${output}${fence}\n` : ''}`;
  if (release.publishedImage === '') return `${fromClone}\nNo release is published yet.\n`;
  return `From a published release:

${fence}sh not-run: image
${publishedScript(release)}${fence}

${fromClone}`;
}

const namespace = '--namespace herald-system --create-namespace';
const untilReady = `kubectl rollout status deployment/herald-controller --namespace herald-system
kubectl rollout status daemonset/herald-agent --namespace herald-system
`;

const output = `...
STATUS: deployed
...
deployment "herald-controller" successfully rolled out
...
daemon set "herald-agent" successfully rolled out
`;

/** Builds a release, puts its image on the nodes of a cluster of kind, k3s or kubeadm, and installs its chart. */
export function cloneScript(version: string): string {
  const { image, chart } = namesOf(version);
  return `npm ci --ignore-scripts
npm run release -- ${version} --dry-run
cd dist-release
nodes() { kubectl get nodes -o jsonpath='{.items[*].status.addresses[?(@.type=="InternalIP")].address}'; }
case $(kubectl get nodes -o jsonpath='{.items[0].spec.providerID}') in
  kind:*) kind load image-archive ${image} ;;
  k3s:*) for node in $(nodes); do ssh $node sudo k3s ctr images import - <${image}; done ;;
  *) for node in $(nodes); do ssh $node sudo ctr --namespace k8s.io images import - <${image}; done ;;
esac
helm install herald ${chart} ${namespace}
${untilReady}`;
}

function publishedScript({ version, publishedImage: image }: { readonly version: string; readonly publishedImage: string }): string {
  return `helm install herald oci://${chartRepository(image)} --version ${version} ${namespace}
${untilReady}`;
}
