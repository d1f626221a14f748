import { lastingReason, reasonEntry, type Numbers, type Texts } from './entry.ts';

/** `frontends`: by frontendKey, as a list. `share`: all or some of the endpoints behind them. */
type FilterDetails = Texts<'node' | 'chain' | 'hook' | 'effect' | 'targets' | 'when' | 'how' | 'frontends' | 'share' | 'remedy'>;

const filterText = ({ chain, hook, effect, targets, when, how }: FilterDetails, share = ''): string =>
  `chain ${chain} (hook ${hook}) ${effect} ${share}${packetsOf(hook)} ${targets}${when === '' ? '' : ` ${when}`}: ${how}`;
const packetsOf = (hook: string): string => (hook === 'egress' ? 'answers from' : 'connections to');

/** Reasons why a node does not forward a Service, or not yet. */
export const forwardingReasons = {
  Headless: reasonEntry({
    brief: 'The Service is headless',
    says: () => 'the Service is headless: clients reach its endpoints themselves',
    fix: () => '',
  }),
  ExternalName: reasonEntry({
    brief: 'The Service is an ExternalName',
    says: () => 'the Service is an alias in DNS: there is nothing to forward',
    fix: () => '',
  }),
  OtherProxy: reasonEntry({
    brief: 'Another proxy serves the Service',
    says: (d: Texts<'name'>) => `the label service.kubernetes.io/service-proxy-name gives the Service to "${d.name}"`,
    fix: () => 'to have Herald serve it, remove that label from the Service',
  }),
  ForeignNat: reasonEntry({
    brief: 'Another program translates packets to the Service first',
    says: (d: Texts<'chain' | 'hook' | 'rule' | 'frontend'> & Numbers<'priority'>) =>
      `chain ${d.chain} (${d.hook}, priority ${d.priority}) runs before Herald's and may translate packets to ${d.frontend}: ${d.rule}`,
    lasting: (d) => `chain ${d.chain} runs before Herald's and may translate packets to ${d.frontend}: ${d.rule}`,
    fix: (d) =>
      `remove the rule with the program that made it (nft -a list table ${d.chain.replace(/^.* of table /, '')}), or narrow its destination`,
  }),
  ServiceFiltered: lastingReason({
    brief: 'A filter of the node drops packets of the Service',
    says: (d: FilterDetails) => filterText(d),
    fix: (d) => d.remedy,
  }),
  ServiceLimited: lastingReason({
    brief: 'A filter of the node drops a share of the packets of the Service',
    says: (d: FilterDetails) => filterText(d, 'a share of '),
    fix: (d) => `if clients need more, raise the limit of this rule, or ${d.remedy}`,
  }),
  PassedFiltered: lastingReason({
    brief: 'A filter of the node drops packets that other nodes pass to its endpoints',
    says: (d: FilterDetails) => filterText(d),
    fix: (d) => d.remedy,
  }),
  FrontendTaken: reasonEntry({
    brief: 'Another Service has the same address and port',
    says: (d: Texts<'frontend' | 'by'>) => `${d.frontend} belongs to ${d.by}, whose name sorts first`,
    fix: () => 'change the port or the address of one of the Services',
  }),
  PortWithoutEndpoint: reasonEntry({
    brief: 'No endpoint serves a port of the Service, so connections to it are refused',
    says: (d: Texts<'port' | 'targetPort'>) =>
      `no endpoint serves port ${d.port} of the Service (targetPort ${d.targetPort}), so connections to it are refused`,
    fix: (d) => `let a ready pod serve ${d.targetPort}, or correct targetPort of ${d.port} in spec.ports of the Service`,
  }),
  FrontendQuarantined: reasonEntry({
    brief: 'The kernel refused the rules',
    says: (d: Texts<'frontend' | 'error'>) => `the kernel refused the rules for ${d.frontend}: ${d.error}`,
    fix: () => 'report this with the output of `herald explain`; other frontends are not affected',
  }),
  AwaitsForwarding: reasonEntry({
    brief: 'Another program has no rules for the Service yet',
    says: (d: Texts<'frontend'>) =>
      `HeraldConfig leaves ${d.frontend} to kube-proxy, which has no rule with an endpoint for it on this node; the route is announced after that rule`,
    fix: () => 'the route is announced when the rule exists; if it does not appear, see the log of kube-proxy on the node',
  }),
  DataPlaneNotPermitted: reasonEntry({
    brief: 'The agent lacks the capability NET_ADMIN',
    says: (d: Texts<'node' | 'error'>) =>
      `the agent of node "${d.node}" runs, but the kernel does not let it read or write rules (${d.error}): it lacks the capability NET_ADMIN`,
    lasting: (d) =>
      `the agent of node "${d.node}" runs, but the kernel does not let it read or write rules: it lacks the capability NET_ADMIN`,
    fix: () =>
      "add NET_ADMIN to securityContext.capabilities.add of the agent's container, as in the shipped DaemonSet; outside Kubernetes, start the agent as root",
  }),
  DataPlaneFailed: reasonEntry({
    brief: 'The data plane accepts no changes',
    says: (d: Texts<'error'>) => `the data plane accepts no changes: ${d.error}`,
    fix: () => 'the agent retries by itself; check its log, and that the kernel has nftables (nft list ruleset)',
  }),
};
