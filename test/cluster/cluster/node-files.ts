import { join } from 'node:path';
import { stringify } from 'yaml';
import { firstOf, valuesOf, type ClusterPlan, type NodePlan } from './description.ts';

/** Paths and names that the configuration files of a node refer to. */
export interface NodeEnvironment {
  /** The directory of these files, seen from the node. */
  readonly directory: string;
  /** The parent of all cgroups of this node's pods: "/hl3f2a/node1". */
  readonly cgroup: string;
  readonly certificateAuthority: string;
  readonly runc: string;
  /** The directory of the CNI plugins. */
  readonly cniPlugins: string;
  readonly pauseImage: string;
  readonly kubeProxyKubeconfig: string;
}

/** Returns the configuration files of a node by name. */
export function nodeFiles(plan: ClusterPlan, node: NodePlan, environment: NodeEnvironment, proxyMode: string): ReadonlyMap<string, string> {
  return new Map([
    ['containerd.toml', containerdConfig(environment)],
    ['kubelet.yaml', stringify(kubeletConfig(plan, environment))],
    ['cni/10-bridge.conflist', JSON.stringify(networkConfig(node))],
    [
      'resolv.conf',
      valuesOf(plan.tor)
        .map((address) => `nameserver ${address}\n`)
        .join(''),
    ],
    ['kube-proxy.yaml', stringify(kubeProxyConfig(plan, node, environment, proxyMode))],
  ]);
}

/** Version 2 is what containerd 1.6 of Debian bookworm reads. Later versions convert it. */
function containerdConfig({ directory, runc, cniPlugins, pauseImage }: NodeEnvironment): string {
  return `version = 2
root = "/var/lib/containerd"
state = "/run/containerd"
[grpc]
  address = "/run/containerd/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${pauseImage}"
  # Root may lack CAP_SYS_RESOURCE, which a negative oom_score_adj needs; runc would fail without a reason.
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        BinaryName = "${runc}"
        SystemdCgroup = false
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "${cniPlugins}"
    conf_dir = "${join(directory, 'cni')}"
`;
}

function kubeletConfig(plan: ClusterPlan, { directory, cgroup, certificateAuthority }: NodeEnvironment): object {
  return {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    failCgroupV1: false,
    cgroupDriver: 'cgroupfs',
    cgroupRoot: cgroup,
    cgroupsPerQOS: true,
    enforceNodeAllocatable: ['pods'],
    containerRuntimeEndpoint: 'unix:///run/containerd/containerd.sock',
    authentication: { anonymous: { enabled: false }, webhook: { enabled: true }, x509: { clientCAFile: certificateAuthority } },
    authorization: { mode: 'Webhook' },
    address: plan.families.includes('ipv4') ? '0.0.0.0' : '::',
    clusterDNS: [firstOf(plan.dnsService)],
    clusterDomain: 'cluster.local',
    resolvConf: join(directory, 'resolv.conf'),
    // The disk is the machine's, so its filling is not the node's concern.
    evictionHard: { 'memory.available': '100Mi', 'nodefs.available': '1%', 'imagefs.available': '1%', 'nodefs.inodesFree': '1%' },
    imageGCHighThresholdPercent: 100,
    imageGCLowThresholdPercent: 99,
    volumePluginDir: '/var/lib/kubelet/volume-plugins',
    podLogsDir: '/var/log/pods',
    failSwapOn: false,
    // A node counts as lost after the controller manager's grace period; a busy machine must not reach it.
    nodeStatusUpdateFrequency: '5s',
    kubeAPIQPS: 50,
    kubeAPIBurst: 100,
    makeIPTablesUtilChains: false,
  };
}

function networkConfig({ podCidr }: NodePlan): object {
  return {
    cniVersion: '1.0.0',
    name: 'pods',
    plugins: [
      {
        type: 'bridge',
        bridge: 'cni0',
        isDefaultGateway: true,
        hairpinMode: true,
        ipMasq: false,
        ipam: { type: 'host-local', ranges: valuesOf(podCidr).map((subnet) => [{ subnet }]) },
      },
      { type: 'portmap', capabilities: { portMappings: true }, snat: true },
    ],
  };
}

function kubeProxyConfig(plan: ClusterPlan, { name }: NodePlan, { kubeProxyKubeconfig }: NodeEnvironment, mode: string): object {
  return {
    apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
    kind: 'KubeProxyConfiguration',
    mode,
    hostnameOverride: name,
    clusterCIDR: valuesOf(plan.podNetwork).join(),
    clientConnection: { kubeconfig: kubeProxyKubeconfig },
    // The size of the table is the machine's, which a namespace cannot change. Times of TCP belong to the namespace.
    conntrack: { maxPerCore: 0 },
  };
}
