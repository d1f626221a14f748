import { join } from 'node:path';
import { KubernetesCluster } from '../../../../test/conformance/cluster.ts';
import { apply } from '../../../../test/conformance/manifests.ts';
import { missingProgram, programPath } from '../../../../test/conformance/programs.ts';
import { metallbDefinitions } from '../../../../test/differential/metallb/metallb-module.ts';
import type { LabProcess } from '../../../../test/lab/lab-process.ts';
import { vip, vip6, type AgentsOnSegment } from '../../../../test/lab/l2-agents/agents-on-segment.ts';
import { nodeAddress, nodeManifest, nodeName, podAddress, podAddress6 } from '../../../../test/lab/l2-agents/manifests.ts';
import { address, formatAddress } from '../../../../src/net/address.ts';
import { run } from '../../../../test/lab/command.ts';
import { until } from '../../../../test/lab/until.ts';
import { buildStage, nodes, type Contender } from './contender.ts';
import { forwardToPod } from './forward-to-pod.ts';

const home = 'metallb-system';
/** The API server's address on the segment. */
const server = '10.77.0.200';

/** MetalLB's speakers in layer 2 mode with memberlist, as its manifests run them, and an API server on the same segment. */
export class MetalLBContender implements Contender {
  readonly name = "MetalLB's speaker";
  readonly lab: AgentsOnSegment;
  readonly #cluster: KubernetesCluster;
  readonly #processes = new Map<number, LabProcess>();

  private constructor(lab: AgentsOnSegment, cluster: KubernetesCluster) {
    this.lab = lab;
    this.#cluster = cluster;
  }

  /** Returns why it cannot run here. */
  static missing(): string | undefined {
    return missingProgram('metallb-speaker', 'kube-apiserver', 'etcd');
  }

  static async start(): Promise<MetalLBContender> {
    const lab = await buildStage();
    const { bridge } = lab.segment;
    let contender: MetalLBContender | undefined;
    try {
      await run(['ip', '-n', bridge, 'addr', 'add', `${server}/16`, 'dev', 'br0']);
      await run(['ip', '-n', bridge, 'link', 'set', 'lo', 'up']);
      contender = new MetalLBContender(lab, await KubernetesCluster.start({ inside: { namespace: bridge, address: server } }));
      await contender.#prepare();
      for (const at of nodes) {
        await forwardToPod(lab, at);
        await contender.start(at);
      }
      return contender;
    } catch (error) {
      await (contender?.close() ?? lab.close());
      throw error;
    }
  }

  start(at: number): Promise<void> {
    const command = [
      programPath('metallb-speaker'),
      `--node-name=${nodeName(at)}`,
      `--pod-name=speaker-${at}`,
      `--namespace=${home}`,
      `--ml-bindaddr=${nodeAddress(at)}`,
      '--ml-bindport=7946',
      '--ml-labels=app=metallb',
      '--port=0',
    ];
    const environment = [`KUBECONFIG=${join(this.#cluster.directory, 'kubeconfig')}`];
    this.#processes.set(at, this.lab.spawn(at, `speaker${at}`, ['env', ...environment, ...command]));
    return Promise.resolve();
  }

  process(at: number): LabProcess {
    const found = this.#processes.get(at);
    if (found === undefined) throw new Error(`no speaker was started on node ${at}`);
    return found;
  }

  async close(): Promise<void> {
    await this.#cluster.stop();
    await this.lab.close();
  }

  /** Creates the nodes, the speakers' pods, by whose addresses they find each other, the pool, the advertisement, and a Service with its addresses. */
  async #prepare(): Promise<void> {
    const cluster = this.#cluster;
    for (const name of [home, 'shop']) await apply(cluster, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
    for (const one of await metallbDefinitions()) await apply(cluster, one);
    for (const at of nodes) {
      const { status, ...node } = nodeManifest(at) as { status: object; metadata: { name: string } };
      await apply(cluster, { ...node, spec: {} });
      await this.#patchStatus(`/api/v1/nodes/${nodeName(at)}`, status);
      const metadata = { name: `speaker-${at}`, namespace: home, labels: { app: 'metallb' } };
      const spec = { nodeName: nodeName(at), hostNetwork: true, containers: [{ name: 'speaker', image: 'speaker' }] };
      await apply(cluster, { apiVersion: 'v1', kind: 'Pod', metadata, spec });
      await this.#patchStatus(`/api/v1/namespaces/${home}/pods/speaker-${at}`, {
        phase: 'Running',
        podIP: nodeAddress(at),
        podIPs: [{ ip: nodeAddress(at) }],
      });
    }
    const metadata = { name: 'segment', namespace: home };
    await until('the kinds of MetalLB are served', async () => {
      const spec = { addresses: [`${vip}/32`, `${vip6}/128`] };
      await apply(cluster, { apiVersion: 'metallb.io/v1beta1', kind: 'IPAddressPool', metadata, spec });
      await apply(cluster, { apiVersion: 'metallb.io/v1beta1', kind: 'L2Advertisement', metadata, spec: {} });
      return true;
    });
    await apply(cluster, {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'web', namespace: 'shop' },
      spec: {
        type: 'LoadBalancer',
        ipFamilyPolicy: 'RequireDualStack',
        ipFamilies: ['IPv4', 'IPv6'],
        ports: [{ name: 'udp', protocol: 'UDP', port: 80, targetPort: 8080 }],
        externalTrafficPolicy: 'Local',
      },
    });
    for (const family of [4, 6] as const) {
      await apply(cluster, {
        apiVersion: 'discovery.k8s.io/v1',
        kind: 'EndpointSlice',
        metadata: { name: `web-v${family}`, namespace: 'shop', labels: { 'kubernetes.io/service-name': 'web' } },
        addressType: `IPv${family}`,
        ports: [{ name: 'udp', protocol: 'UDP', port: 8080 }],
        endpoints: nodes.map((at) => ({
          // The API server wants the canonical form.
          addresses: [formatAddress(address(family === 4 ? podAddress(at) : podAddress6(at)))],
          nodeName: nodeName(at),
          conditions: { ready: true },
        })),
      });
    }
    await this.#patchStatus('/api/v1/namespaces/shop/services/web', { loadBalancer: { ingress: [{ ip: vip }, { ip: vip6 }] } });
  }

  async #patchStatus(path: string, status: object): Promise<void> {
    await this.#cluster.request({
      method: 'PATCH',
      path: `${path}/status`,
      body: { status },
      contentType: 'application/merge-patch+json',
    });
  }
}
