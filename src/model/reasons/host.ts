import { reasonEntry } from './entry.ts';

/** What is wrong with a host, or missing on it. Agents say it of their node; nothing waits for it. */
export const hostReasons = {
  HealthCheckNotServed: reasonEntry({
    brief: 'The health-check node port cannot be served',
    says: (d: { readonly port: number; readonly family: string; readonly why: string }) =>
      `health-check node port ${d.port} is not served over ${d.family}, and load balancers that ask there send nothing to this node: ${d.why}`,
    fix: (d) => `free the port (ss -ltnp "sport = :${d.port}" tells who has it); it is served at once when it is free`,
  }),
  HealthzNotServed: reasonEntry({
    brief: 'The health of the node cannot be served',
    says: (d: { readonly address: string; readonly why: string }) => `/healthz is not served at ${d.address}: ${d.why}`,
    fix: () => 'stop kube-proxy where it still runs; or give another --healthz-bind-address, or none',
  }),
  LocalhostNodePortNotServed: reasonEntry({
    brief: 'A NodePort is not served on localhost',
    says: (d: { readonly port: number; readonly family: string; readonly why: string }) =>
      `NodePort ${d.port} is not served on the ${d.family} loopback address: ${d.why}`,
    fix: (d) => `free the port (ss -ltnp "sport = :${d.port}" tells who has it), or set localhostNodePorts: false in HeraldConfig`,
  }),
  NodePortListener: reasonEntry({
    brief: 'A program of the node listens on a NodePort',
    says: (d: { readonly port: number; readonly protocol: string; readonly address: string; readonly service: string }) =>
      `a program of the node listens on ${d.protocol} port ${d.port} at ${d.address}, but what comes there goes to Service ${d.service}, whose NodePort it is`,
    fix: (d) =>
      `let the program listen elsewhere (ss -ln${d.protocol === 'TCP' ? 't' : 'u'}p "sport = :${d.port}" tells who it is), or give the Service another NodePort`,
  }),
  KernelSettingWrong: reasonEntry({
    brief: 'A setting of the kernel is wrong for forwarding',
    says: (d: {
      readonly setting: string;
      readonly value: string;
      readonly wanted: string;
      readonly why: string;
      readonly error: string;
    }) => `${d.setting} is ${d.value} and should be ${d.wanted}: ${d.why}${d.error === '' ? '' : ` (it was not set: ${d.error})`}`,
    fix: (d) => `run on the node: sysctl -w ${d.setting}=${d.wanted}`,
  }),
  ForwardingNotSeen: reasonEntry({
    brief: 'Whether another program forwards cannot be seen',
    says: (d: { readonly scope: string; readonly why: string }) =>
      `HeraldConfig leaves forwarding to another program (services: ${d.scope}), and no rules of kube-proxy are found${d.why === '' ? '' : ` (${d.why})`}: routes go out as if it forwarded`,
    fix: () => 'start kube-proxy on the node; where another program forwards (Cilium, Calico with eBPF), this is how it is',
  }),
  KubeProxyBeside: reasonEntry({
    brief: 'Rules of kube-proxy are on a node where Herald forwards everything',
    says: (d: { readonly program: string }) =>
      `there are rules of ${d.program} on this node, and HeraldConfig has services: all. Herald's come first, but source ranges, refusals and addresses of Services that have gone may still be kube-proxy's`,
    fix: () =>
      'if kube-proxy is to go: remove its DaemonSet, then run on the node: herald agent --cleanup-kube-proxy; if it is to stay: set services: external or none in HeraldConfig',
  }),
  MasqueradeBitShared: reasonEntry({
    brief: 'Herald and kube-proxy ask for masquerade by the same bit',
    says: (d: { readonly bit: number; readonly program: string }) =>
      `${d.program} and Herald both use bit ${d.bit} of the packet mark, so each masquerades what the other asked for`,
    fix: () => 'choose another masqueradeBit in HeraldConfig, or leave it out',
  }),
  ForwardFilterDrops: reasonEntry({
    brief: 'Another program drops forwarded packets',
    says: (d: { readonly chain: string; readonly how: string; readonly remedy: string }) =>
      `chain ${d.chain} drops the packets of Services that none of its other rules accepts: ${d.how}`,
    fix: (d) => d.remedy,
  }),
  InputFilterDrops: reasonEntry({
    brief: 'Another program drops connections to the node',
    says: (d: { readonly chain: string; readonly ports: string; readonly how: string; readonly remedy: string }) =>
      `chain ${d.chain} drops connections to TCP port ${d.ports} that none of its other rules accepts: ${d.how}`,
    fix: (d) => d.remedy,
  }),
};
