import { kept, lost, to, type SourceField, type SourceKind } from '../reading/source-kind.ts';

/** A field of KubeProxyConfiguration, with the flag that sets the same where there is one. */
interface Setting {
  readonly row: SourceField;
  readonly flag?: string;
}

const own = "is about kube-proxy's process";
const atOnce =
  'is not needed: Herald writes each change to the kernel at once, and repairs its tables when an event says that they changed';
const windows = 'is about nodes with Windows, on which Herald does not run';
const byNode = 'Herald takes the InternalIPs of the Node object';
const strict = 'is not needed: Herald puts no address on an interface, so nothing answers ARP for one by accident';

const rows = (list: readonly (readonly [row: SourceField, flag?: string])[]): Setting[] =>
  list.map(([row, flag]) => (flag === undefined ? { row } : { row, flag }));
const many = (make: (field: string) => SourceField, ...names: readonly (readonly [field: string, flag?: string])[]): Setting[] =>
  rows(names.map(([field, flag]) => (flag === undefined ? [make(field)] : [make(field), flag])));

const forwarding = rows([
  [to('mode', 'HeraldConfig `services: all`, whatever the mode. `kernelspace` is refused: Herald does not run on Windows.'), 'proxy-mode'],
  [to('clusterCIDR', 'HeraldConfig `podCIDRs`, where `detectLocalMode` is ClusterCIDR or unset'), 'cluster-cidr'],
  [
    to(
      'detectLocalMode',
      'ClusterCIDR: `podCIDRs`. NodeCIDR: nothing, because `podCIDRs` are those of all Nodes without it. Others: `podInterfaces`.',
    ),
    'detect-local-mode',
  ],
  [to('detectLocal.bridgeInterface', 'HeraldConfig `podInterfaces`'), 'pod-bridge-interface'],
  [to('detectLocal.interfaceNamePrefix', 'HeraldConfig `podInterfaces`, with `*`'), 'pod-interface-name-prefix'],
  [
    to(
      'nodePortAddresses',
      'HeraldConfig `nodePortAddresses`; `localhost` is `localhostNodePorts`. Unset in iptables and ipvs mode it is every address. A family without an entry has every address, as with kube-proxy.',
    ),
    'nodeport-addresses',
  ],
  [to('iptables.masqueradeAll', 'HeraldConfig `masqueradeAll`, in iptables and ipvs mode'), 'masquerade-all'],
  [
    to('iptables.masqueradeBit', 'HeraldConfig `masqueradeBit`, in iptables and ipvs mode; 14 is the default of both'),
    'iptables-masquerade-bit',
  ],
  [
    to(
      'iptables.localhostNodePorts',
      'HeraldConfig `localhostNodePorts`, in iptables mode. Unset it is true in kube-proxy, and a note says so.',
    ),
    'iptables-localhost-nodeports',
  ],
  [to('nftables.masqueradeAll', 'HeraldConfig `masqueradeAll`, in nftables mode'), 'masquerade-all'],
  [to('nftables.masqueradeBit', 'HeraldConfig `masqueradeBit`, in nftables mode')],
]);

const ipvs = rows([
  [
    to(
      'ipvs.scheduler',
      'HeraldConfig `loadBalancing`, in ipvs mode; unset it is `round-robin`, as in kube-proxy. One that Herald does not have is lost.',
    ),
    'ipvs-scheduler',
  ],
  [kept('ipvs.strictARP', strict, 'arp_ignore and arp_announce, which kube-proxy set, stay until the node boots'), 'ipvs-strict-arp'],
  [
    to(
      'ipvs.tcpTimeout',
      'HeraldConfig `conntrack.tcpEstablishedSeconds`, where that is not set and the timeout is longer. A shorter one is lost: connections then live longer.',
    ),
    'ipvs-tcp-timeout',
  ],
  [
    lost(
      'ipvs.tcpFinTimeout',
      'has no equivalent: a connection that was closed is forgotten after the time that the kernel has for it, 120 s by default',
      'nothing is needed for most; net.netfilter.nf_conntrack_tcp_timeout_fin_wait of the nodes sets it',
    ),
    'ipvs-tcpfin-timeout',
  ],
  [
    to(
      'ipvs.udpTimeout',
      'HeraldConfig `conntrack.udpSeconds` and `conntrack.udpStreamSeconds`, where the configuration has no value for them',
    ),
    'ipvs-udp-timeout',
  ],
  [
    kept(
      'ipvs.excludeCIDRs',
      'is not needed: Herald touches no virtual server of IPVS',
      'herald agent --cleanup-kube-proxy removes only those whose address is on kube-ipvs0',
    ),
    'ipvs-exclude-cidrs',
  ],
  [kept('ipvs.syncPeriod', atOnce), 'ipvs-sync-period'],
  [kept('ipvs.minSyncPeriod', atOnce), 'ipvs-min-sync-period'],
  [kept('iptables.syncPeriod', atOnce), 'iptables-sync-period'],
  [kept('iptables.minSyncPeriod', atOnce), 'iptables-min-sync-period'],
  [kept('nftables.syncPeriod', atOnce)],
  [kept('nftables.minSyncPeriod', atOnce)],
]);

const conntrack = rows([
  [to('conntrack.maxPerCore', 'HeraldConfig `conntrack.maxPerCore`, with the same default'), 'conntrack-max-per-core'],
  [to('conntrack.min', 'HeraldConfig `conntrack.min`, with the same default'), 'conntrack-min'],
  [
    to('conntrack.tcpEstablishedTimeout', 'HeraldConfig `conntrack.tcpEstablishedSeconds`, with the same default'),
    'conntrack-tcp-timeout-established',
  ],
  [
    to('conntrack.tcpCloseWaitTimeout', 'HeraldConfig `conntrack.tcpCloseWaitSeconds`, with the same default'),
    'conntrack-tcp-timeout-close-wait',
  ],
  [
    lost(
      'conntrack.tcpBeLiberal',
      'has no equivalent: packets outside of the window stay invalid',
      'set net.netfilter.nf_conntrack_tcp_be_liberal = 1 on the nodes',
    ),
    'conntrack-tcp-be-liberal',
  ],
  [to('conntrack.udpTimeout', 'HeraldConfig `conntrack.udpSeconds`'), 'conntrack-udp-timeout'],
  [to('conntrack.udpStreamTimeout', 'HeraldConfig `conntrack.udpStreamSeconds`'), 'conntrack-udp-timeout-stream'],
]);

const processes = [
  ...rows([
    [to('healthzBindAddress', '`herald agent --healthz-bind-address`'), 'healthz-bind-address'],
    [
      to(
        'metricsBindAddress',
        '`herald agent --metrics-address`, with port 10290 in place of 10249. Unset it is the InternalIPs of the node, where kube-proxy has loopback.',
      ),
      'metrics-bind-address',
    ],
    [kept('hostnameOverride', "is `--node` of the agent, which Herald's DaemonSet takes from its Pod"), 'hostname-override'],
    [kept('bindAddress', `is not needed: ${byNode}`), 'bind-address'],
    [kept('oomScoreAdj', `${own}: Herald's agents have priorityClassName system-node-critical`), 'oom-score-adj'],
    [kept('configSyncPeriod', 'is not needed: Herald watches the API server'), 'config-sync-period'],
    [kept('featureGates', own), 'feature-gates'],
    [kept('portRange', 'has no effect in kube-proxy either'), 'proxy-port-range'],
  ]),
  ...many(
    (field) => kept(field, own),
    ['bindAddressHardFail', 'bind-address-hard-fail'],
    ['enableProfiling', 'profiling'],
    ['showHiddenMetricsForVersion', 'show-hidden-metrics-for-version'],
    ['clientConnection.kubeconfig', 'kubeconfig'],
    ['clientConnection.acceptContentTypes'],
    ['clientConnection.contentType', 'kube-api-content-type'],
    ['clientConnection.qps', 'kube-api-qps'],
    ['clientConnection.burst', 'kube-api-burst'],
    ['logging.format', 'logging-format'],
    ['logging.flushFrequency', 'log-flush-frequency'],
    ['logging.verbosity', 'v'],
    ['logging.vmodule', 'vmodule'],
    ['logging.options'],
    // Fields of kube-proxy before 1.27.
    ['resourceContainer', 'resource-container'],
    ['udpIdleTimeout', 'udp-timeout'],
    ['conntrack.max', 'conntrack-max'],
  ),
  ...many(
    (field) => lost(field, windows, 'keep kube-proxy on these nodes'),
    ['winkernel.networkName', 'network-name'],
    ['winkernel.sourceVip', 'source-vip'],
    ['winkernel.enableDSR', 'enable-dsr'],
    ['winkernel.rootHnsEndpointName', 'root-hnsendpoint-name'],
    ['winkernel.forwardHealthCheckVip', 'forward-healthcheck-vip'],
    ['windowsRunAsService', 'windows-service'],
  ),
];

const settings = [...forwarding, ...ipvs, ...conntrack, ...processes];

/** The flag for each field that has one. */
export const flagOfField: ReadonlyMap<string, string> = new Map(
  settings.flatMap(({ row, flag }) => (flag === undefined ? [] : [[row.field, flag] as const])),
);

const ofFlags = new Map(
  settings.toReversed().flatMap(({ row, flag }) => (flag === undefined ? [] : [[flag, { ...row, field: flag }] as const])),
);

const alone: readonly SourceField[] = [
  to(
    'config',
    'The file with a KubeProxyConfiguration, beside which kube-proxy ignores most flags: import that, or the ConfigMap that has it.',
  ),
  to('healthz-port', '`herald agent --healthz-bind-address`; 0: none'),
  to('metrics-port', '`herald agent --metrics-address`; 0: none'),
  ...[
    'master cleanup cleanup-ipvs cleanup-iptables init-only write-config-to version help',
    'log-json-info-buffer-size log-json-split-stream log-text-info-buffer-size log-text-split-stream',
    'add-dir-header alsologtostderr log-backtrace-at log-dir log-file log-file-max-size logtostderr one-output skip-headers skip-log-headers stderrthreshold',
  ]
    .flatMap((names) => names.split(' '))
    .map((name) => kept(name, own)),
];

/** config/v1alpha1/types.go of k8s.io/kube-proxy 1.37, and fields that earlier versions had. */
export const configurationKind: SourceKind = {
  tool: 'kube-proxy',
  kind: 'KubeProxyConfiguration',
  root: '',
  fields: settings.map(({ row }) => row),
};

/** cmd/kube-proxy/app/options.go and component-base/logs of Kubernetes 1.36, and flags that earlier versions had. */
export const flagsKind: SourceKind = {
  tool: 'kube-proxy',
  kind: 'flags of kube-proxy, also in `kube-proxy-arg` of k3s and RKE2',
  root: '--',
  fields: [...[...ofFlags.values()].toReversed(), ...alone],
};
