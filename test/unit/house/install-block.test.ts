import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { cloneScript, installation, pagesWithCommands, withCommands } from '../../../scripts/generate/install-block.ts';
import { version } from '../../../src/model/objects/version.ts';

test.each(pagesWithCommands())('%s has the commands that npm run generate writes', (path, content) => {
  expect(readFileSync(join(import.meta.dirname, '../../..', path), 'utf8')).toBe(content);
});

describe('the commands of installation', () => {
  let directory: string;
  const log = (): string[] => readFileSync(join(directory, 'log'), 'utf8').trimEnd().split('\n');
  const program = (name: string, script: string): void => writeFileSync(join(directory, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'herald-install-block-'));
    const image = `dist-release/herald-${version}-image.oci.tar`;
    program('npm', `echo "npm $*" >>$LOG; case $1 in run) mkdir dist-release; echo octets >${image} ;; esac`);
    program('ssh', 'echo "ssh $* gets $(cat)" >>$LOG');
    for (const name of ['kind', 'helm']) program(name, `echo "${name} $*" >>$LOG`);
    program(
      'kubectl',
      'case "$*" in *providerID*) printf %s "$PROVIDER_ID" ;; *InternalIP*) printf %s "$NODES" ;; *) echo "kubectl $*" >>$LOG ;; esac',
    );
  });
  afterEach(() => rmSync(directory, { recursive: true }));

  const image = `herald-${version}-image.oci.tar`;
  const k3s = 'sudo k3s ctr images import - gets octets';
  const kubeadm = 'sudo ctr --namespace k8s.io images import - gets octets';
  const clusters = [
    ['kind', 'kind://docker/kind/kind-control-plane', '172.18.0.2', [`kind load image-archive ${image}`]],
    ['k3s', 'k3s://server', '192.0.2.1 192.0.2.2', [`ssh 192.0.2.1 ${k3s}`, `ssh 192.0.2.2 ${k3s}`]],
    ['kubeadm', '', '192.0.2.1 192.0.2.2', [`ssh 192.0.2.1 ${kubeadm}`, `ssh 192.0.2.2 ${kubeadm}`]],
    ['kubeadm for IPv6', '', '2001:db8::1', [`ssh 2001:db8::1 ${kubeadm}`]],
  ] as const;

  test.each(clusters.flatMap((cluster) => ['sh', 'bash', 'zsh'].map((shell) => [shell, ...cluster] as const)))(
    'in %s put the image on the nodes of %s before Helm installs the chart',
    (shell, _, provider, nodes, loads) => {
      const env = {
        PATH: `${directory}:${process.env['PATH'] ?? ''}`,
        LOG: join(directory, 'log'),
        PROVIDER_ID: provider,
        NODES: nodes,
        HOME: directory,
      };
      const { status, stderr } = spawnSync(shell, ['-eu'], { cwd: directory, env, input: cloneScript(version), encoding: 'utf8' });
      expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
      expect(log()).toEqual([
        'npm ci --ignore-scripts',
        `npm run release -- ${version} --dry-run`,
        ...loads,
        `helm install herald herald-chart-${version}.tgz --namespace herald-system --create-namespace`,
        'kubectl rollout status deployment/herald-controller --namespace herald-system',
        'kubectl rollout status daemonset/herald-agent --namespace herald-system',
      ]);
    },
  );

  test('name the published chart only after a release was published', () => {
    expect(installation({ version: '1.2.3', publishedImage: '' }, true)).toContain('No release is published yet.');
    const published = installation({ version: '1.2.3', publishedImage: 'registry.example/team/herald' }, true);
    expect(published).toContain('helm install herald oci://registry.example/team/charts/herald --version 1.2.3 --namespace herald-system');
    expect(published).toContain(cloneScript('1.2.3'));
    expect(published).not.toContain('No release is published');
  });

  test.each(['', 'npm run generate', '<!-- end of the commands of installation -->\n'.repeat(2)])(
    'are refused for a page without the marks: %j',
    (page) => {
      expect(() => withCommands('docs/x.md', page, '')).toThrow('docs/x.md: the marks');
    },
  );
});
