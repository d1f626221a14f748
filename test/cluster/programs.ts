import { createHash } from 'node:crypto';
import { accessSync, constants, existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';

/** The minors of Kubernetes that a cluster can have, the newest first. Each is a file test/cluster/kubernetes/MINOR.mod. */
export const minors = ['1.36', '1.35', '1.34'] as const;
export type Minor = (typeof minors)[number];

/** The minor of a cluster whose description names none. `npm run test:cluster -- --minor` passes it to the tests. */
export const defaultMinor: Minor = minors.find((minor) => minor === process.env['HERALD_CLUSTER_MINOR']) ?? minors[0];

/** The programs that scripts/setup-cluster.sh builds: the names in test/cluster/kubernetes/packages. */
export type BuiltProgram =
  | 'kubelet'
  | 'kube-scheduler'
  | 'kube-proxy'
  | 'kube-apiserver'
  | 'kube-controller-manager'
  | 'etcd'
  | 'agnhost'
  | 'regression-issue-74839'
  | 'ginkgo'
  | 'e2e.test';

/** Programs of Debian packages, which scripts/setup-cluster.sh installs. */
export type DebianProgram = 'containerd' | 'containerd-shim-runc-v2' | 'ctr' | 'runc' | 'buildah' | 'conntrack';

export type ClusterProgram = BuiltProgram | DebianProgram;

/** The directory of the CNI plugins (bridge, host-local, loopback, portmap): a package of Debian. */
export const cniPlugins = '/usr/lib/cni';

const modules = join(import.meta.dirname, 'kubernetes');
const cache = process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache');

/** The files that test programs and images of the cluster are kept in, by a digest of their inputs. */
export const cacheDirectory = join(cache, 'herald/cluster');

/** Returns the absolute path of a program. Throws when it does not exist, with the command that makes it. */
export function clusterProgram(name: ClusterProgram, minor: Minor = defaultMinor): string {
  const debian = debianDirectories[name as DebianProgram];
  const directories = debian ?? [buildDirectory(minor)];
  const path = directories.map((directory) => join(directory, name)).find(isExecutable);
  if (path !== undefined) return path;
  throw new Error(`there is no ${name} for Kubernetes ${minor} yet: sh scripts/setup-cluster.sh ${minor}`);
}

/** "v1.36.2" for 1.36 */
export function kubernetesVersion(minor: Minor = defaultMinor): string {
  const version = /^\tk8s\.io\/kubernetes (v[\d.]+)$/m.exec(readFileSync(join(modules, `${minor}.mod`), 'utf8'))?.[1];
  if (version === undefined) throw new Error(`${minor}.mod does not name a version of k8s.io/kubernetes`);
  return version;
}

/** The directory of the programs that were built from exactly these sources. scripts/setup-cluster.sh computes the same path. */
export function buildDirectory(minor: Minor): string {
  const digest = createHash('sha256');
  for (const file of [`${minor}.mod`, `${minor}.sum`, 'packages', 'e2e/e2e_test.go']) digest.update(readFileSync(join(modules, file)));
  return join(cacheDirectory, `kubernetes-${minor}-${digest.digest('hex').slice(0, 16)}`);
}

/** Debian installs these below /usr/sbin too, which is not in the path of every shell. */
const anywhere = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'];
const debianDirectories: Readonly<Partial<Record<ClusterProgram, readonly string[]>>> = {
  containerd: anywhere,
  'containerd-shim-runc-v2': anywhere,
  ctr: anywhere,
  runc: anywhere,
  buildah: anywhere,
  conntrack: anywhere,
};

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return existsSync(path);
  } catch {
    return false;
  }
}
