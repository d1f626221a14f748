import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { clusterName, region } from '../../test/moto/account.ts';
import { configurationKinds, definition } from '../../../../test/conformance/manifests.ts';
import { version } from '../../../../src/model/objects/version.ts';
import type { Contender, Surroundings } from './contender.ts';
import { startController } from './start-controller.ts';

const root = join(import.meta.dirname, '../../../..');

/** Herald as the container image has it: built, because Node.js needs 35 MB more to run TypeScript. */
export class Herald implements Contender, Disposable {
  readonly name = `Herald ${version}`;
  readonly objects = configurationKinds.map(definition);
  readonly serviceTag = 'herald.dev/stack';
  readonly #folder = mkdtempSync(join(tmpdir(), 'herald-build-'));

  constructor() {
    const compiler = join(root, 'node_modules/typescript/bin/tsc');
    execFileSync(process.execPath, [compiler, '-p', join(root, 'tsconfig.build.json'), '--outDir', join(this.#folder, 'dist')]);
    for (const part of ['bin', 'package.json']) cpSync(join(root, part), join(this.#folder, part), { recursive: true });
    symlinkSync(join(root, 'node_modules'), join(this.#folder, 'node_modules'));
  }

  /** As in a pod: of a kubeconfig, which takes a library of 80 MB, it has none. */
  start({ serviceAccount, apiServer, vpcId, endpoint, directory }: Surroundings) {
    const argv = [join(this.#folder, 'bin/herald'), 'controller', '--leader-elect=false'];
    const aws = ['--aws-cluster-name', clusterName, '--aws-region', region, '--aws-vpc-id', vpcId];
    return startController({
      argv: withServiceAccount(serviceAccount, [...argv, ...aws]),
      logFile: join(directory, 'herald.log'),
      environment: { AWS_ENDPOINT_URL: endpoint, KUBERNETES_SERVICE_HOST: apiServer.hostname, KUBERNETES_SERVICE_PORT: apiServer.port },
      started: /controller started/,
    });
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true });
  }
}

/** Returns a command line that runs `argv` with these files where a pod has them. No other process sees them there. */
function withServiceAccount(folder: string, argv: readonly string[]): readonly string[] {
  const place = '/run/secrets/kubernetes.io/serviceaccount';
  const script = `mount -t tmpfs none /run && mkdir -p ${place} && cp "$0"/* ${place} && exec "$@"`;
  return ['unshare', ...(process.getuid?.() === 0 ? [] : ['--map-root-user']), '--mount', 'sh', '-c', script, folder, ...argv];
}
