import { copyFileSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { programPath } from '../../conformance/programs.ts';
import type { Bed } from '../../docs/follow.ts';
import { inNamespace } from '../../lab/namespace.ts';
import { createCluster, type Cluster } from '../cluster/cluster.ts';
import { valuesOf, type ClusterDescription } from '../cluster/description.ts';
import type { ImageFile } from '../cluster/images.ts';
import { webServerImage } from '../images/index.ts';
import { writeNpm, writeProgram } from '../../docs/reader-programs.ts';
import type { ReleaseFiles } from './release-files.ts';

/**
 * A reader of the quick start at a machine of the nodes' network, with kubectl, helm, and `ssh` to the nodes. The cluster is without Herald. Its nodes
 * have the image of the page, and those of the second cluster and later ones that of Herald, because the page imports it only at its beginning.
 */
export class Reader implements Bed {
  readonly checkout = false;
  readonly programs = mkdtempSync(join(tmpdir(), 'herald-reader-'));
  /** A script, because each cluster has namespaces of its own. */
  readonly entrance = [join(this.programs, 'in-namespace-of-reader')];
  readonly variables = { KUBECONFIG: join(this.programs, 'kubeconfig') };
  readonly #files: ReleaseFiles;
  readonly #kubeProxies: ClusterDescription['kubeProxy'][];
  #cluster: Cluster | undefined;

  private constructor(files: ReleaseFiles, kubeProxies: readonly ClusterDescription['kubeProxy'][]) {
    this.#files = files;
    this.#kubeProxies = [...kubeProxies];
  }

  /** `kubeProxies` are the modes of kube-proxy of the first cluster and of those that `renew` creates. */
  static async start(files: ReleaseFiles, kubeProxies: readonly ClusterDescription['kubeProxy'][]): Promise<Reader> {
    const reader = new Reader(files, kubeProxies);
    try {
      for (const program of ['kubectl', 'helm'] as const) symlinkSync(programPath(program), join(reader.programs, program));
      writeNpm(reader.programs, files.folder);
      await reader.#replace([]);
      return reader;
    } catch (error) {
      await reader.stop();
      throw error;
    }
  }

  /** The modes for which there was no cluster yet. */
  get remaining(): readonly ClusterDescription['kubeProxy'][] {
    return this.#kubeProxies;
  }

  /** Replaces the cluster by a new one, whose nodes have the image of Herald. */
  renew(): Promise<void> {
    return this.#replace([this.#files.image]);
  }

  async #replace(further: readonly ImageFile[]): Promise<void> {
    await this.#cluster?.remove();
    const kubeProxy = this.#kubeProxies.shift();
    if (kubeProxy === undefined) throw new Error('the page has more sections that begin with a new cluster than this test expects');
    const images = [await webServerImage(), ...further];
    const cluster = await createCluster({ families: 'ipv4', network: 'home', kubeProxy }, { images });
    this.#cluster = cluster;
    copyFileSync(cluster.kubeconfig, this.variables.KUBECONFIG);
    const command = inNamespace(cluster.lab.machine('client').namespace, []).join(' ');
    const logins = cluster.nodes.map(
      ({ plan, entrance }) => `${valuesOf(plan.address).join('|')}) shift; exec ${entrance.join(' ')} "$@" ;;`,
    );
    writeProgram(this.programs, 'ssh', ['case $1 in', ...logins, 'esac', 'exit 255'].join('\n'));
    writeProgram(this.programs, 'sudo', 'exec "$@"');
    for (const entrance of this.entrance) writeFileSync(entrance, `#!/bin/sh\nexec ${command} "$@"\n`, { mode: 0o755 });
  }

  async stop(): Promise<void> {
    await this.#cluster?.remove();
    rmSync(this.programs, { recursive: true, force: true });
  }
}
