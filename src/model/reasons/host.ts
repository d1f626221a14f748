import { reasonEntry, type Numbers, type Texts } from './entry.ts';

/** Problems of a host that its agent reports. They do not block any Service by themselves. */
export const hostReasons = {
  ClockSkew: reasonEntry({
    brief: "The clock differs from the API server's",
    says: (d: Texts<'direction'> & Numbers<'seconds'>) =>
      `the clock of this host is ${d.seconds} s ${d.direction} the API server's, so ages of reports and of the Lease are wrong by as much`,
    fix: () => 'set the clocks of this host and of the API server by NTP',
  }),
  NodeClockSkew: reasonEntry({
    brief: "The clock of a node differs from the API server's",
    says: (d: Texts<'node' | 'direction'> & Numbers<'seconds'>) =>
      `the clock of node "${d.node}" is ${d.seconds} s ${d.direction} the API server's: times in its report and its log are wrong by as much`,
    fix: (d) => `set the clock of node "${d.node}" by NTP`,
  }),
  NoControllerLeads: reasonEntry({
    brief: 'No controller assigns addresses',
    says: (d: Texts<'lease' | 'why'>) =>
      `no controller leads (the Lease ${d.lease} ${d.why}): Services get no addresses, and their status stays as it is; addresses that they have are announced`,
    fix: (d) =>
      `look at the controllers: kubectl -n ${d.lease.replace(/\/.*/, '')} get pods -l app.kubernetes.io/component=controller; their log says why they do not get the Lease`,
  }),
  RecordsUnwritten: reasonEntry({
    brief: 'The file system of the directory takes no records',
    says: (d: Texts<'process' | 'problem' | 'file' | 'fix'> & Numbers<'records'>) =>
      `${d.process} cannot write to the directory: ${d.problem} (records that wait: ${d.records}, such as ${d.file})`,
    fix: (d) => `${d.fix}; what waits is then written`,
  }),
  StatusWriteRefused: reasonEntry({
    brief: 'The API server refuses the status of Services',
    says: (d: Texts<'process' | 'service' | 'problem'> & Numbers<'services'>) =>
      `${d.process} may not write the status of ${d.services === 1 ? `Service ${d.service}` : `${d.services} Services, such as ${d.service}`}, so addresses and conditions are not recorded: ${d.problem}`,
    fix: () =>
      'grant the right: apply manifests/base/controller-rbac.yaml of this version, or the chart (rule of the ClusterRole: apiGroups [""], resources [services/status], verbs [patch]); the status is then written within a minute',
  }),
  HealthCheckNotServed: reasonEntry({
    brief: 'The health-check node port cannot be served',
    says: (d: Texts<'family' | 'why'> & Numbers<'port'>) =>
      `health-check node port ${d.port} is not served over ${d.family}, and load balancers that check it send nothing to this node: ${d.why}`,
    fix: (d) => `free the port (ss -ltnp "sport = :${d.port}" shows the program); Herald serves it as soon as it is free`,
  }),
  HealthzNotServed: reasonEntry({
    brief: 'The health endpoint of the node cannot be served',
    says: (d: Texts<'address' | 'why'>) => `/healthz is not served at ${d.address}: ${d.why}`,
    fix: () => 'stop kube-proxy where it still runs; or give another --healthz-bind-address, or none',
  }),
  LocalhostNodePortNotServed: reasonEntry({
    brief: 'A NodePort is not served on localhost',
    says: (d: Texts<'family' | 'why'> & Numbers<'port'>) =>
      `NodePort ${d.port} is not served on the ${d.family} loopback address: ${d.why}`,
    fix: (d) => `free the port (ss -ltnp "sport = :${d.port}" shows the program), or set localhostNodePorts: false in HeraldConfig`,
  }),
  NodePortListener: reasonEntry({
    brief: 'A program of the node listens on a NodePort',
    says: (d: Texts<'protocol' | 'address' | 'service'> & Numbers<'port'>) =>
      `a program of the node listens on ${d.protocol} port ${d.port} at ${d.address}, but packets to that port go to Service ${d.service}, whose NodePort it is`,
    fix: (d) =>
      `let the program listen elsewhere (ss -ln${d.protocol === 'TCP' ? 't' : 'u'}p "sport = :${d.port}" shows the program), or give the Service another NodePort`,
  }),
  OwnAddressListener: reasonEntry({
    brief: "A program of the node listens at a Service's port of the node's own address",
    says: (d: Texts<'protocol' | 'address' | 'service'> & Numbers<'port'>) =>
      `a program of the node listens on ${d.protocol} port ${d.port} of ${d.address}, an address of the node, but packets to that port go to Service ${d.service}, which has this address too`,
    fix: (d) =>
      `remove ${d.address} or port ${d.port} from the Service, or let the program listen elsewhere (ss -ln${d.protocol === 'TCP' ? 't' : 'u'}p "sport = :${d.port}" shows it)`,
  }),
  KernelSettingWrong: reasonEntry({
    brief: 'A setting of the kernel is wrong for forwarding',
    says: (d: Texts<'setting' | 'value' | 'wanted' | 'why' | 'error'>) =>
      `${d.setting} is ${d.value} and should be ${d.wanted}: ${d.why}${d.error === '' ? '' : ` (it was not set: ${d.error})`}`,
    fix: (d) => `run on the node: sysctl -w ${d.setting}=${d.wanted}`,
  }),
  RouteLocalnetOfKubeProxy: reasonEntry({
    brief: 'Neighbours reach what listens on localhost, because of kube-proxy',
    says: (d: Texts<'program'>) =>
      `net.ipv4.conf.all.route_localnet is 1, so neighbours can reach what listens on 127.0.0.1 of this node (CVE-2020-8558); the rules of ${d.program} are on this node, and with 0 its NodePorts on localhost end`,
    fix: () =>
      'leave it while programs of the node use NodePorts on localhost; else start kube-proxy with --iptables-localhost-nodeports=false, then run on the node: sysctl -w net.ipv4.conf.all.route_localnet=0',
  }),
  ConntrackNearlyFull: reasonEntry({
    brief: "The kernel's table of connections is nearly full",
    says: (d: Numbers<'reached' | 'cleared' | 'maximum' | 'wanted'>) =>
      `the kernel's table of connections reached ${d.reached} % of net.netfilter.nf_conntrack_max (${d.maximum}) and has not fallen below ${d.cleared} %: when it is full, the kernel drops new connections`,
    fix: (d) => `run on the node: sysctl -w net.netfilter.nf_conntrack_max=${d.wanted}, and keep the setting in /etc/sysctl.d`,
  }),
  PodPathNarrow: reasonEntry({
    brief: 'An interface to pods takes smaller packets than clients send',
    says: (d: Texts<'interface' | 'uplink'> & Numbers<'others' | 'mtu' | 'uplinkMtu' | 'podMtu' | 'wanted'>) =>
      `packets of more than ${d.mtu} octets do not fit into ${d.interface}${d.others === 0 ? '' : ` and ${d.others} other ${d.others === 1 ? 'interface' : 'interfaces'}`}, the way to pods: unless they may be fragmented they are dropped, and arrive only if their sender accepts ICMP errors (fragmentation needed, packet too big). The MTU of ${d.uplink} is ${d.uplinkMtu}, and that of pods is ${d.podMtu}`,
    fix: (d) =>
      `give pods an MTU of ${d.mtu} in the configuration of the network plugin and start them again; or, where the links below carry it, run on the node: ip link set dev ${d.interface} mtu ${d.wanted}`,
  }),
  PodCIDRsMissed: reasonEntry({
    brief: 'HeraldConfig does not know the pods of a node',
    says: (d: Texts<'node' | 'missed' | 'configured'>) =>
      `${d.missed} (spec.podCIDRs of node "${d.node}") is not inside podCIDRs of HeraldConfig/default (${d.configured}): pods there count as clients from outside, so under externalTrafficPolicy Local they reach only endpoints of their own node, and none if it has none`,
    fix: (d) => `add ${d.missed} to spec.podCIDRs of HeraldConfig/default; or leave the field out, and the podCIDRs of all Nodes count`,
  }),
  PoolUnansweredOnLink: reasonEntry({
    brief: 'A pool inside the network of a node is announced by BGP only',
    says: (d: Texts<'example' | 'pool' | 'network' | 'interface' | 'protocol'>) =>
      `${d.example} (IPAddressPool "${d.pool}") is announced by BGP only and lies in ${d.network}, the network of ${d.interface}: machines of that network ask for it by ${d.protocol}, and Herald does not answer them`,
    fix: (d) =>
      `create an L2Advertisement with spec.ipAddressPools: [${d.pool}], beside the BGPAdvertisement; or set answerOnLocalLinks: true in HeraldConfig/default, for all such pools; or give the pool addresses outside of ${d.network}`,
  }),
  BridgeDropsForwarded: reasonEntry({
    brief: 'The kernel drops packets for other nodes in a bridge',
    says: (d: Texts<'bridge' | 'families' | 'settings' | 'remedy'>) =>
      `${d.bridge} leads to endpoints on other nodes, and ${d.settings}: the kernel translates ${d.families} packets of Services inside the bridge, and drops those that would leave by the port by which they came. ` +
      'Connections of clients behind that port reach endpoints of this node only',
    fix: (d) => `run on the node, and keep it for the next start: ${d.remedy}`,
  }),
  UplinkWithoutConnections: reasonEntry({
    brief: 'No connections come in by one of several uplinks',
    says: (
      d: Texts<'interface' | 'peers' | 'family' | 'prefix' | 'since' | 'besides'> & Numbers<'connections'> & Partial<Numbers<'before'>>,
    ) =>
      `since ${d.since} no connection over ${d.family} has come in by ${d.interface} (BGPPeer ${d.peers}), while more than ${d.connections} first packets came in by ${d.besides}${d.before === undefined ? '' : `; before, ${d.before} % came in by ${d.interface}`}`,
    fix: (d) =>
      `find out on the router of BGPPeer ${d.peers} whether it uses the route and passes packets on: show bgp ${d.family.toLowerCase()} unicast ${d.prefix}, its static routes and its filters; packets that arrive on the node show in tcpdump -ni ${d.interface} dst net ${d.prefix}; a router that is only a backup, or has no clients behind it, is no fault`,
  }),
  ForwardingNotSeen: reasonEntry({
    brief: 'Herald cannot see whether another program forwards',
    says: (d: Texts<'scope' | 'why'>) =>
      `HeraldConfig leaves forwarding to another program (services: ${d.scope}), and no rules of kube-proxy are found${d.why === '' ? '' : ` (${d.why})`}: routes are announced as if it forwarded`,
    fix: () => 'start kube-proxy on the node; with another program (Cilium, Calico with eBPF) this is expected',
  }),
  KubeProxyBeside: reasonEntry({
    brief: 'Rules of kube-proxy are on a node where Herald forwards everything',
    says: (d: Texts<'program'>) =>
      `there are rules of ${d.program} on this node, and HeraldConfig has services: all. Herald's come first, but kube-proxy may still apply source ranges, refuse connections and forward addresses of deleted Services`,
    fix: () =>
      'if kube-proxy is to go: remove its DaemonSet, then run on the node: herald agent --cleanup-kube-proxy; if it is to stay: set services: external or none in HeraldConfig',
  }),
  MasqueradeBitShared: reasonEntry({
    brief: 'Herald and kube-proxy use the same bit to request masquerade',
    says: (d: Texts<'program'> & Numbers<'bit'>) =>
      `${d.program} and Herald both use bit ${d.bit} of the packet mark, so each masquerades what the other asked for`,
    fix: () => 'choose another masqueradeBit in HeraldConfig, or leave it out',
  }),
  ForwardFilterDrops: reasonEntry({
    brief: 'Another program drops forwarded packets',
    says: (d: Texts<'chain' | 'how' | 'remedy'>) =>
      `chain ${d.chain} drops the packets of Services that none of its other rules accepts: ${d.how}`,
    fix: (d) => d.remedy,
  }),
  FiltersUnread: reasonEntry({
    brief: 'Herald cannot read the filters of other programs',
    says: (d: Texts<'error'>) => `filters cannot be read: ${d.error}. Filters that were read before are still reported, new ones are not`,
    fix: () => 'run on the node, as the user of the agent: nft -j list chains',
  }),
  FilterTablesUnread: reasonEntry({
    brief: 'The node has tables of legacy iptables that Herald cannot read',
    says: (d: Texts<'tables' | 'why'>) =>
      `the kernel has tables of legacy iptables (${d.tables}), and their rules are not judged: ${d.why}. A rule that drops there would not be named`,
    fix: () =>
      'look on the node for rules that drop: iptables-legacy-save and ip6tables-legacy-save; to have them judged, install iptables-legacy where the agent runs; if nothing uses the tables, unload their modules (such as rmmod iptable_filter)',
  }),
  FilterNotDecided: reasonEntry({
    brief: 'Herald cannot judge a filter of another program',
    says: (d: Texts<'chain' | 'rule' | 'looksAt' | 'service' | 'target' | 'remedy'> & Partial<Texts<'since'>>) =>
      `${d.since === undefined ? '' : `since ${d.since} it is `}not decided whether chain ${d.chain} lets packets of Services through, such as those of ${d.service} to ${d.target}: ${d.rule} looks at ${d.looksAt}`,
    fix: (d) => `look whether connections arrive: herald check service ${d.service}; if they are lost here, ${d.remedy}`,
  }),
  TrafficFilterUnread: reasonEntry({
    brief: 'A program or filter on an interface may drop packets',
    says: (d: Texts<'interface' | 'filters'> & Partial<Texts<'plugin'>>) =>
      `${d.filters} ${/ and /.test(d.filters) ? 'are' : 'is'} attached to ${d.interface}${d.plugin === undefined ? '' : `, by its name of ${d.plugin}`}, and Herald cannot read what is dropped there`,
    fix: (d) =>
      `look on the node whose it is: bpftool net show dev ${d.interface}; ip -d link show dev ${d.interface}; tc filter show dev ${d.interface} ingress; if connections are lost, try without it: ${d.filters.includes('XDP') ? `ip link set dev ${d.interface} xdp off` : `tc qdisc del dev ${d.interface} clsact`}`,
  }),
  PodFilterDrops: reasonEntry({
    brief: 'Another program drops connections that other nodes pass to pods',
    says: (d: { readonly chain: string; readonly pods: string; readonly how: string; readonly remedy: string }) =>
      `chain ${d.chain} drops connections to pods of this node (${d.pods}) that another node has translated, because none of its other rules accepts them: ${d.how}`,
    fix: (d) => d.remedy,
  }),
  InputFilterDrops: reasonEntry({
    brief: 'Another program drops connections to the node',
    says: (d: Texts<'chain' | 'ports' | 'how' | 'remedy'>) =>
      `chain ${d.chain} drops connections to TCP port ${d.ports} that none of its other rules accepts: ${d.how}`,
    fix: (d) => d.remedy,
  }),
};
