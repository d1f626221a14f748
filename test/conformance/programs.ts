import { createHash } from 'node:crypto';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';

const modules = {
  'kube-proxy': 'kubernetes',
  'kube-apiserver': 'kubernetes',
  etcd: 'kubernetes',
  'kube-controller-manager': 'kubernetes',
  kubectl: 'tools',
  helm: 'tools',
  'metallb-controller': 'metallb',
  'metallb-speaker': 'metallb',
} as const;

/** Programs of Kubernetes, clients and MetalLB's programs, which tests and benches run. scripts/setup-conformance.sh builds them from the modules beside this file. */
export type Program = keyof typeof modules;

/** Returns the absolute path of a program that was built from exactly these sources. Throws when it does not exist. */
export function programPath(program: Program): string {
  const moduleDirectory = join(import.meta.dirname, modules[program]);
  const digest = createHash('sha256');
  // scripts/setup-conformance.sh computes the same digest of the same files.
  const sources = globSync(`${program}/**/*`, { cwd: moduleDirectory, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(moduleDirectory.length + 1));
  for (const file of ['go.mod', 'go.sum', ...sources.toSorted()]) digest.update(readFileSync(join(moduleDirectory, file)));
  const cache = process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache');
  const path = join(cache, 'herald/conformance', digest.digest('hex').slice(0, 16), program);
  if (!existsSync(path)) throw new Error(`${program} is not built yet: sh scripts/setup-conformance.sh ${program}`);
  return path;
}

/** Returns why one of the programs cannot run here, with the command that builds it. Undefined: all exist. */
export function missingProgram(...programs: readonly Program[]): string | undefined {
  for (const program of programs) {
    try {
      programPath(program);
    } catch (error) {
      return (error as Error).message;
    }
  }
  return undefined;
}

/** "v1.36.2" */
export const kubernetesVersion =
  /^\tk8s\.io\/kubernetes (v[\d.]+)$/m.exec(readFileSync(join(import.meta.dirname, 'kubernetes/go.mod'), 'utf8'))?.[1] ?? '';
