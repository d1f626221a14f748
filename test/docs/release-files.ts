import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { version } from '../../src/model/objects/version.ts';
import { programPath } from '../conformance/programs.ts';
import { run } from '../lab/command.ts';
import { root } from './follow.ts';

/** Puts the chart and the manifests of a release into a reader's directory. */
export async function download(directory: string): Promise<void> {
  await downloadChart(directory);
  for (const [name, folder] of [
    ['crds', 'crds'],
    ['beside-kube-proxy', 'overlays/beside-kube-proxy'],
  ] as const) {
    const { stdout } = await run([programPath('kubectl'), 'kustomize', join(root, 'manifests', folder)]);
    writeFileSync(join(directory, `herald-${version}-${name}.yaml`), stdout);
  }
}

/** Puts the chart of a release into a reader's directory. */
export async function downloadChart(directory: string): Promise<void> {
  await run([programPath('helm'), 'package', join(root, 'manifests/chart'), '--destination', directory]);
  renameSync(join(directory, `herald-${version}.tgz`), join(directory, `herald-chart-${version}.tgz`));
}
