import { addressesOfEndpoints } from './listed-endpoints.ts';
import { lastingReason, reasonEntry, type Numbers, type Texts } from './entry.ts';

/** What a node saw of connections to endpoints, or of the way to them. `endpoints`: "10.244.1.10:8080", or several as a list for people. */
export const checkReasons = {
  EndpointRefuses: lastingReason({
    brief: 'Endpoints refuse connections',
    says: (d: FailedConnections & Declared) =>
      `connections to ${d.endpoints} ${d.secondsAgo === undefined ? 'are' : 'were'} refused${last(d)}${declared(d)}`,
    fix: (d) =>
      d.declared !== undefined
        ? `correct targetPort in spec.ports of the Service (${portOf(d.endpoints)}), or let the program listen there`
        : `let the program of the pod listen at ${portOf(d.endpoints)} of all addresses (0.0.0.0 and ::, not 127.0.0.1), or correct targetPort of the Service; if it listens, a rule on the way rejects packets`,
    field: 'spec.ports',
  }),
  EndpointSilent: lastingReason({
    brief: 'Endpoints do not answer connections',
    says: (d: FailedConnections & Declared & Placed) =>
      `connections to ${d.endpoints}${d.slice === undefined ? '' : ` (EndpointSlice ${d.slice})`} ${d.secondsAgo === undefined ? 'get' : 'got'} no answer${last(d)}${declared(d)}`,
    fix: silentFix,
  }),
  EndpointDropped: lastingReason({
    brief: 'A filter of the node drops connections to endpoints',
    says: (d: FailedConnections & Partial<Texts<'filter' | 'remedy'>>) =>
      `connections to ${d.endpoints} ${d.secondsAgo === undefined ? 'are' : 'were'} dropped or rejected by a filter of the node that passes them on${last(d)}${d.filter === undefined ? '' : `: ${d.filter}`}`,
    fix: (d) =>
      d.remedy ??
      `find the rule on node "${d.node}" that drops them (nft list ruleset and iptables-save: the hooks forward, input, output and postrouting, with their policies), and accept new connections to ${addressOf(d.endpoints)} before it`,
  }),
  EndpointAnswersLost: lastingReason({
    brief: 'Answers of endpoints do not reach clients',
    says: ({ endpoints, clients, interface: name, ...d }: AnswersLost) => {
      if (clients === undefined || name === undefined)
        return `${endpoints} answer connections, and the answers do not reach the clients${d.route === undefined ? '' : `: ${d.route}`}`;
      const others = d.uplinks === undefined ? 'where nobody answers for their addresses' : `and clients come by ${d.uplinks}`;
      const by =
        d.rule === undefined ? `the route ${clients} of the node` : `rule ${d.rule} of the node, with route ${clients} of its table,`;
      return `answers of ${endpoints} do not reach clients in ${clients}: ${by} leads out by ${name}, ${others}`;
    },
    fix: ({ node, endpoints, clients, interface: name, ...d }) => {
      if (d.remedy !== undefined) return `run on node "${node}", and have the program that set it not set it again: ${d.remedy}`;
      if (clients === undefined || name === undefined)
        return `repair the route to the clients on node "${node}": ip route get CLIENT shows it`;
      const ip = `ip ${clients.includes(':') ? '-6 ' : ''}`;
      if (d.preference !== undefined)
        return `on node "${node}", have answers use the main table before the rule: ${ip}rule add pref ${Math.max(1, d.preference - 1)} from ${addressOf(endpoints)} lookup main; or remove the rule: ${ip}rule del pref ${d.preference} (${ip}route show table ${d.table} shows its routes)`;
      return `on node "${node}", remove the route, or give ${name} another network (of a bridge of Docker: bip in /etc/docker/daemon.json): ${ip}route show ${clients} shows it`;
    },
  }),
  ClientsDoNotComplete: lastingReason({
    brief: 'Clients do not complete connections that endpoints answer',
    says: (d: Texts<'node' | 'endpoints'>) =>
      `${d.endpoints} answer connections, and clients do not complete them: the answers do not reach them, or their addresses are forged`,
    fix: (d) =>
      `check the way back from node "${d.node}" to the clients: ip route get CLIENT on that node, and filters of sources (uRPF, anti-spoofing) on the routers, which must let packets from the Service's address through`,
  }),
  EndpointHangs: lastingReason({
    brief: 'Endpoints accept connections and do not answer what clients send',
    says: (d: Texts<'node' | 'endpoints'>) => `connections to ${d.endpoints} are established, and nothing answers what clients send`,
    fix: hungFix,
  }),
  EndpointSendsNothing: lastingReason({
    brief: 'Endpoints have sent nothing, and keep connections that clients have ended',
    says: (d: Texts<'node' | 'endpoints'>) =>
      `connections to ${d.endpoints} are established, nothing answers what clients send, and the program keeps the connections that clients end`,
    fix: hungFix,
  }),
  LargeAnswersUnacknowledged: lastingReason({
    brief: 'Clients do not acknowledge large packets of endpoints',
    says: (d: Texts<'node' | 'endpoints'>) =>
      `large packets of answers from ${d.endpoints} are sent again and again, and clients acknowledge none of them`,
    fix: (d) =>
      `find the link to the clients that takes smaller packets only, and the router or firewall that drops the ICMP messages about it: on node "${d.node}", ping -M do -s 1472 CLIENT (for IPv6 -s 1452), and smaller sizes until it answers; let ICMP type 3 code 4 and ICMPv6 type 2 pass, or limit the segments on that router (nft: tcp flags syn tcp option maxseg size set rt mtu)`,
  }),
  AnswersUnacknowledged: lastingReason({
    brief: 'Clients do not acknowledge data of endpoints',
    says: (d: Texts<'node' | 'endpoints'>) =>
      `${d.endpoints} send data on established connections, and clients do not acknowledge it: it does not reach them, or they are gone`,
    fix: (d) =>
      `try it from a client; if large answers do not arrive, find the link that takes smaller packets only: on node "${d.node}", ping -M do -s 1472 CLIENT (for IPv6 -s 1452)`,
  }),
  EndpointUnroutable: lastingReason({
    brief: 'A node has no route to endpoints',
    says: (d: { readonly node: string; readonly endpoints: string; readonly route: string; readonly remedy?: string }) =>
      `there is no way to ${d.endpoints}: ${d.route}`,
    fix: (d) =>
      d.remedy === undefined
        ? `repair the routes to pods on node "${d.node}", which the network plugin sets: ip route get ${addressOf(d.endpoints)} shows them`
        : `run on node "${d.node}", and keep it for the next start: ${d.remedy}`,
  }),
  EndpointOnOtherNode: lastingReason({
    brief: 'An endpoint is on another node than its EndpointSlice says',
    says: (d: Texts<'node' | 'endpoints' | 'slice' | 'other'> & { readonly shownBy: 'range' | 'route' }) =>
      `EndpointSlice ${d.slice} says that ${d.endpoints} ${/, | and /.test(d.endpoints) ? 'are' : 'is'} on node "${d.node}", but ${d.shownBy === 'range' ? `the address is in spec.podCIDRs of node "${d.other}", and the route of node "${d.node}" leads away from it` : `the route of node "${d.node}" leads to node "${d.other}"`}: under externalTrafficPolicy Local its answers do not come back by node "${d.node}", and clients do not get them`,
    fix: (d) =>
      `set nodeName of ${addressOf(d.endpoints)} to ${d.other}: kubectl -n ${d.slice.replace('/', ' edit endpointslice ')}; a slice that Kubernetes makes has spec.nodeName of the Pod, so look there for a Pod that has taken the address of another`,
  }),
  EndpointNotOnLink: lastingReason({
    brief: 'No machine on the link has the address of an endpoint',
    says: (d: { readonly node: string; readonly endpoints: string; readonly interface: string }) =>
      `nobody answers on ${d.interface} for the address of ${d.endpoints}`,
    fix: () => 'check that the pod runs and has this address; if it was deleted, its EndpointSlice is out of date',
  }),
  ChecksBlind: reasonEntry({
    brief: 'The agent cannot see connections',
    says: (d: { readonly why: string }) => `the agent cannot see what becomes of connections: ${d.why}`,
    fix: () =>
      'connection tracking must be readable by netlink (nf_conntrack_netlink, capability NET_ADMIN); until then only `herald check service` tells',
  }),
};

function silentFix(d: FailedConnections & Placed): string {
  const inPod = `the pod's own routes (ip route get CLIENT in the pod), or a program that accepts no connections (ss -ltn in the pod)`;
  const check = 'herald check service shows from which nodes the endpoints answer';
  const address = addressOf(d.endpoints);
  const ip = address.includes(':') ? 'ip -6' : 'ip';
  if (d.home !== undefined && d.home === d.node)
    return `look on node "${d.home}", where they are by ${d.slice === undefined ? 'their EndpointSlice' : `EndpointSlice ${d.slice}`}: is there still a pod with this address, with a route to it that does not lead away (${ip} route get ${address}) and the right neighbor (${ip} neigh show ${address}); then a filter or a NetworkPolicy (nft list ruleset, on the node and in the pod), ${inPod}; ${check}`;
  const pod = d.home === undefined ? 'the pod' : `the pod on node "${d.home}"`;
  return `find what loses the packets between node "${d.node}" and ${pod}: a filter or a NetworkPolicy (nft list ruleset, on both nodes and in the pod), the network plugin's routes (${ip} route get ${address}), ${inPod}, or an address that no pod has any more; ${check}`;
}

function hungFix({ endpoints }: Texts<'node' | 'endpoints'>): string {
  return `look at the program of the pod: it may be stopped, blocked or overloaded (its log; ss -tn in the pod shows octets that it has not read in Recv-Q of ${portOf(endpoints)}); a readinessProbe that sends a request takes such a pod out of the Service, and a livenessProbe restarts it`;
}

/** `secondsAgo`: since the last one. Absent: they fail now, or it is not known. */
type FailedConnections = Texts<'node' | 'endpoints'> & Partial<Numbers<'secondsAgo'>>;

/** The node on which their EndpointSlices have the endpoints, if it is one, and the slice, if others have more of the Service. */
type Placed = Partial<Texts<'home' | 'slice'>>;

/** A Pod of these endpoints and the TCP ports that its containers declare, if theirs is not among them. Absent: it is, or Pods were not read. */
type Declared = Partial<Texts<'pod' | 'declared'>>;

const declared = (d: Declared & Texts<'endpoints'>): string =>
  d.pod === undefined || d.declared === undefined
    ? ''
    : `, and the containers of Pod ${d.pod} declare no ${portOf(d.endpoints)}, but containerPort ${d.declared}`;

const last = ({ secondsAgo }: FailedConnections): string => (secondsAgo === undefined ? '' : `, the last one ${secondsAgo} s ago`);

/**
 * `clients`: their network, to which `interface` leads. `uplinks`: the interfaces by which they come. `rule`: the rule that leads to `table`, with its
 * `preference`. `route`: why answers go nowhere, with the command of `remedy`.
 */
type AnswersLost = Texts<'node' | 'endpoints'> &
  Partial<Texts<'clients' | 'interface' | 'uplinks' | 'route' | 'remedy' | 'rule' | 'table'> & Numbers<'preference'>>;

/** "port 8080" of "10.244.1.10:8080 and 2 others". */
const portOf = (endpoints: string): string => `port ${/:(\d+)/.exec(endpoints.replaceAll(/\[[^\]]*\]/g, ''))?.[1] ?? ''}`;
const addressOf = (endpoints: string): string => addressesOfEndpoints(endpoints)[0] ?? '';
