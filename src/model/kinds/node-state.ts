import { defined } from '../../lang/defined.ts';
import { pathKinds } from '../../net/direct-return.ts';
import { bitsOf, formatAddress, parseAddress, type Address } from '../../net/address.ts';
import { parsePrefix, type Prefix } from '../../net/prefix.ts';
import { limits } from '../limits.ts';
import type { ServiceKey } from '../objects/metadata.ts';
import {
  checkModes,
  differenceAspects,
  drainPhases,
  sessionStates,
  type AddressClaim,
  type ChecksReport,
  type DirectReturnReport,
  type FailingEndpoints,
  type HeldBackFamily,
  type InterfaceAddress,
  type NodeInterface,
  type NodeLink,
  type NodeState,
  type ServiceDifference,
  type SessionStatus,
} from '../objects/node-state.ts';
import { isKnownCode, reason, reasonText, type Reason } from '../reasons.ts';
import { anything, boolean, integer, list, map, object, openObject, text } from '../schema/fields.ts';
import { defineKind, type ReadContext } from '../schema/kind.ts';
import { age, conditions } from '../schema/status.ts';
import type { Value } from '../schema/value.ts';
import { recordedTime } from './report-time.ts';
import { asn, bfd, count, damping, family, longText, neighbor, readBfd, readDamping, readFamily, readNeighbor } from './session-parts.ts';

const wordList = (options: { readonly description: string }) =>
  list(text({ maxLength: 64 }), { ...options, maxItems: limits.nodeAddresses });

const reasonFields = {
  code: text({ maxLength: 253, description: 'A code of the [catalogue](reasons.md).' }),
  details: map(anything, {
    maxEntries: limits.reasonDetails,
    description: 'Names and numbers used in its texts: text, number, true or false.',
  }),
  message: text({ maxLength: longText, description: 'The full sentence, for readers of another version.' }),
};
const reasonField = (description: string) => object(reasonFields, { open: true, description });
const writtenReason = reasonField('Why.');

const session = openObject({
  peer: text({ maxLength: 253, description: 'Name of the BGPPeer.' }),
  address: text({ maxLength: 253, description: 'Its address, or "unnumbered on eth1" until the router is found.' }),
  interface: text({ maxLength: 64, description: 'Interface that the session is bound to.' }),
  state: text({ maxLength: 64, description: sessionStates.join(', ') }),
  since: text({ maxLength: 64, description: 'RFC 3339. Empty when the peer was refused and there is no session.' }),
  localASN: integer({ ...asn, description: 'Our AS number.' }),
  peerASN: integer({ ...asn, description: "The peer's; 0 until it is known." }),
  prefixesSent: integer({ ...count, description: 'Routes sent to the peer.' }),
  families: list(family, { maxItems: limits.sessionFamilies, description: 'The address families of the established session.' }),
  lastError: text({ maxLength: longText, description: "Why the session is down, or was down last. The peer's own text is quoted." }),
  cause: reasonField('Why the session is down: its first cause since it was last established. Absent: it is up, or nothing is known.'),
  warning: reasonField('What an established session lacks that its BGPPeer asks for: BFD, or an address family. Absent: nothing.'),
  damping,
  bfd,
  neighbors: list(neighbor, {
    maxItems: limits.neighbors,
    description: 'The routers that connected, of a BGPPeer with `dynamicNeighbors`. The session is established if one of them is.',
  }),
});
const difference = openObject({
  service: text({ maxLength: 127, description: '"namespace/name".' }),
  aspect: text({ maxLength: 64, description: differenceAspects.join(', ') }),
  reason: writtenReason,
});

const directReturn = object(
  {
    receives: wordList({
      description:
        'How the node can receive packets: over its link (`link`), through the tunnel (`vxlan`). Empty: no packets may be passed to it.',
    }),
    passes: wordList({ description: 'How it passes packets on.' }),
    networks: wordList({ description: 'Networks of its InternalIPs that are links shared with other nodes.' }),
    linkAddresses: wordList({ description: 'Link-layer addresses that its packets carry on a link.' }),
    interfaces: wordList({ description: 'Interfaces of its InternalIPs.' }),
    mtu: integer({ min: 0, max: 2 ** 31 - 1, description: 'The smallest MTU of these interfaces.' }),
  },
  { open: true, description: 'What the node can do for direct server return; absent: no Service asked for it.' },
);

const link = openObject({
  name: text({ maxLength: 64, description: 'Name of the interface.' }),
  linkAddress: text({ maxLength: 64, description: 'Its link-layer address.' }),
  networks: wordList({ description: 'Its networks.' }),
  addresses: wordList({ description: "The node's own addresses there." }),
});

const networkInterface = openObject({
  name: text({ maxLength: 64, description: 'Name of the interface.' }),
  addresses: wordList({ description: 'Its addresses with the lengths of their prefixes: "192.0.2.11/24".' }),
});

const claim = openObject({
  address: text({ maxLength: 64, description: 'The address.' }),
  number: integer({ ...count, description: 'Higher than that of every earlier claim of the address.' }),
  givesBack: boolean({ description: 'The node gives the address back to a better placed one (`failback: after`).' }),
});

const heldBack = openObject({
  family: text({ maxLength: 64, description: 'IPv4 or IPv6.' }),
  since: text({ maxLength: 64, description: 'When the agent noticed, RFC 3339.' }),
  settled: boolean({ description: 'The problem has lasted, and the routes are withdrawn unless this node is the last next hop.' }),
  reason: writtenReason,
});

const failing = object(
  {
    service: text({ maxLength: 127, description: '"namespace/name".' }),
    family: text({ maxLength: 64, description: 'IPv4 or IPv6.' }),
    port: text({ maxLength: 64, description: 'The port of the Service: "80/TCP".' }),
    areAll: boolean({ description: 'All endpoints to which the node sends new connections for this port fail.' }),
    reason: writtenReason,
  },
  { open: true },
);

const checks = object(
  {
    mode: text({ maxLength: 64, description: checkModes.join(', ') }),
    problem: object(reasonFields, { open: true, description: 'Why the node sees nothing of connections. Absent: it sees them.' }),
    answered: list(text({ maxLength: 128 }), {
      maxItems: limits.answeredFrontends,
      description: 'Addresses and ports ("192.0.2.1 TCP 80") at which connections through this node were answered in the last ten minutes.',
    }),
    truncated: boolean({ description: 'More were answered than are listed.' }),
    failing: list(failing, { maxItems: limits.failingEndpoints, description: 'Endpoints that this node does not reach.' }),
  },
  { open: true, description: 'What the node saw of connections to Services.' },
);

const drain = object(
  {
    phase: text({ maxLength: 64, description: drainPhases.join(', ') }),
    since: text({ maxLength: 64, description: 'When the drain began, RFC 3339.' }),
    kept: integer({ ...count, description: 'Services whose routes stay because no other node announces them.' }),
    withdrawn: text({ maxLength: 64, description: 'When the last route was withdrawn, RFC 3339; the deadline counts from there.' }),
    connections: integer({ ...count, description: 'Connections that still arrive after the routes were withdrawn.' }),
  },
  { open: true, description: "Progress of the node's [drain](../how-to/drain.md). Absent: the node is not being drained." },
);

const pod = object(
  {
    namespace: text({ maxLength: 63, description: 'Its namespace.' }),
    name: text({ maxLength: 253, description: 'Its name.' }),
    uid: text({ maxLength: 64, description: 'Its UID.' }),
  },
  { open: true, description: 'The Pod of the agent, by which its kubelet shows that it lives.' },
);

/**
 * Agents write this status, possibly of another version than the CRD and the reader. So no word is fixed, every object keeps unknown
 * fields, and length limits are far above what agents write: a refused write would hide a whole node.
 */
const status = openObject({
  updated: text({
    maxLength: 64,
    description:
      'When it was written, RFC 3339, by the clock of the node. Without `pod`, an agent counts as dead 90 s after the API server took its last report.',
  }),
  version: text({ maxLength: 64, description: 'The version of the agent.' }),
  writer: text({ maxLength: 64, description: 'Tells agent processes apart that report for the same node.' }),
  pod,
  consumed: map(text({ maxLength: 64 }), {
    maxEntries: limits.consumedKinds,
    description: 'The highest resourceVersion of the Services, and of its own Node, that the agent has acted on.',
  }),
  sessions: list(session, { maxItems: limits.sessions, description: 'BGP sessions of the node.' }),
  differing: list(difference, {
    maxItems: limits.differing,
    description: 'Services whose actual state differs from what was decided.',
  }),
  truncated: boolean({ description: 'More Services differ than are listed. The state of Services that are not listed is unknown.' }),
  problem: reasonField('A problem that affects every Service of the node.'),
  host: list(writtenReason, { maxItems: limits.hostReasons, description: 'Problems of the host.' }),
  heldBack: list(heldBack, {
    maxItems: limits.heldBackFamilies,
    description:
      'The address families that the host does not forward, whose [routes the node holds back](host.md#a-node-that-cannot-forward).',
  }),
  drain,
  directReturn,
  links: list(link, {
    maxItems: limits.nodeLinks,
    description: 'The links on which the node can announce addresses by ARP and NDP; absent: there was no L2Advertisement.',
  }),
  interfaces: list(networkInterface, {
    maxItems: limits.nodeInterfaces,
    description: "The node's interfaces with their addresses, which [no Service gets](../explanation/addresses-of-others.md).",
  }),
  routers: wordList({
    description: 'Routers that the node sends packets to: next hops of received routes, and routers that connected.',
  }),
  claims: list(claim, {
    maxItems: limits.nodeClaims,
    description:
      'Addresses that the node announces by ARP and NDP, or was the last one to announce. Of several nodes that list an address, the one with the highest number did so last.',
  }),
  checks,
  conditions,
});

export const nodeState = defineKind({
  kind: 'NodeState',
  plural: 'nodestates',
  shortNames: ['hnode'],
  description:
    "The report of a node's agent: one object for each node, with the node's name. Do not write one. Unknown fields and words from other versions are kept.",
  reads: status,
  status,
  columns: [
    { name: 'Updated', type: 'date', path: '.status.updated', description: 'How long ago the agent reported.' },
    { name: 'Problem', type: 'string', path: '.status.problem.code', description: 'A problem that affects every Service of the node.' },
    {
      name: 'Held Back',
      type: 'string',
      path: '.status.heldBack[*].family',
      description: 'The first address family whose routes the node holds back.',
      wide: true,
    },
    { name: 'Drain', type: 'string', path: '.status.drain.phase', description: "Progress of the node's drain." },
    { name: 'Sessions', type: 'string', path: '.status.sessions[*].state', description: 'State of the first session.', wide: true },
    { name: 'Host', type: 'string', path: '.status.host[*].code', description: 'The first problem of the host.' },
    age,
  ],
  example: {},
  object: readReport,
});

type Written = Value<typeof status>;

function readReport(status: Written, { metadata, version }: ReadContext): Omit<NodeState, 'kind' | 'metadata'> {
  const differing = status.differing.map(readDifference);
  const known = differing.filter((one) => one !== undefined);
  return {
    updated: status.updated ?? '',
    ...defined({ recorded: recordedTime(metadata, version) }),
    ...defined({ version: status.version, writer: status.writer }),
    ...readPod(status.pod),
    consumed: Object.fromEntries(Object.entries(status.consumed).filter(([, version]) => /^[0-9]{1,40}$/.test(version))),
    sessions: status.sessions.flatMap(readSession),
    differing: known,
    // A difference that another version wrote in an unknown form counts as `truncated`.
    ...(status.truncated === true || known.length < differing.length ? { truncated: true } : {}),
    ...defined({ problem: status.problem && readReason(status.problem) }),
    ...filled({ host: status.host.map(readReason), heldBack: status.heldBack.flatMap(readHeldBack) }),
    ...readDrain(status.drain),
    ...filled({ links: status.links.flatMap(readLink), claims: status.claims.flatMap(readClaim) }),
    ...filled({ interfaces: status.interfaces.flatMap(readInterface), routers: status.routers.flatMap(readAddress) }),
    ...defined({ directReturn: status.directReturn && readDirectReturn(status.directReturn) }),
    ...readChecks(status.checks),
  };
}

function readPod(item: Value<typeof pod> | undefined): Pick<NodeState, 'pod'> {
  const { namespace = '', name = '', uid = '' } = item ?? {};
  return uid === '' ? {} : { pod: { namespace, name, uid } };
}

/** With an unknown mode, from another version, nothing is known of connections. */
function readChecks(item: Value<typeof checks> | undefined): { readonly checks?: ChecksReport } {
  const mode = checkModes.find((word) => word === item?.mode);
  if (item === undefined || mode === undefined) return {};
  const { problem, answered, truncated } = item;
  return {
    checks: {
      mode,
      ...(problem === undefined ? {} : { problem: readReason(problem) }),
      answered,
      ...(truncated === true ? { truncated } : {}),
      failing: item.failing.flatMap(readFailing),
    },
  };
}

function readFailing({ service = '', family: word, port = '', areAll = false, reason: why }: Value<typeof failing>): FailingEndpoints[] {
  if ((word !== 'IPv4' && word !== 'IPv6') || why === undefined || !isServiceKey(service)) return [];
  return [{ service, family: word, port, areAll, reason: readReason(why) }];
}

function readLink({ name = '', linkAddress = '', networks, addresses }: Value<typeof link>): NodeLink[] {
  if (!isInterfaceName(name) || !isLinkAddress(linkAddress)) return [];
  return [{ name, linkAddress, networks: networks.flatMap(readPrefix), addresses: addresses.flatMap(readAddress) }];
}

function readInterface({ name = '', addresses }: Value<typeof networkInterface>): NodeInterface[] {
  return isInterfaceName(name) ? [{ name, addresses: addresses.flatMap(readInterfaceAddress) }] : [];
}

function readInterfaceAddress(written: string): InterfaceAddress[] {
  const [at = '', digits = ''] = written.split('/');
  const read = parseAddress(at);
  const length = Number(digits);
  return read.ok && /^[0-9]{1,3}$/.test(digits) && length <= bitsOf(read.value.family) ? [{ address: read.value, length }] : [];
}

function readClaim({ address = '', number, givesBack }: Value<typeof claim>): AddressClaim[] {
  const read = parseAddress(address);
  if (!read.ok || number === undefined) return [];
  return [{ address: formatAddress(read.value), number, ...(givesBack === true ? { givesBack } : {}) }];
}

/** Leaves out lists without elements. */
function filled<T extends Readonly<Record<string, readonly unknown[]>>>(lists: T): Partial<T> {
  return Object.fromEntries(Object.entries(lists).filter(([, list]) => list.length > 0)) as Partial<T>;
}

const isInterfaceName = (text: string): boolean => /^[^\s/]{1,15}$/.test(text);
const isLinkAddress = (text: string): boolean => /^[0-9a-f]{2}(:[0-9a-f]{2}){5}$/.test(text);

function readPrefix(text: string): Prefix[] {
  const read = parsePrefix(text);
  return read.ok ? [read.value] : [];
}

function readAddress(text: string): Address[] {
  const read = parseAddress(text);
  return read.ok ? [read.value] : [];
}

function readDirectReturn({ receives, passes, networks, linkAddresses, interfaces, mtu }: Value<typeof directReturn>): DirectReturnReport {
  return {
    ...(mtu === undefined || mtu < 68 ? {} : { mtu }),
    receives: (['link', 'vxlan'] as const).filter((word) => receives.includes(word)),
    passes: pathKinds.filter((way) => passes.includes(way)),
    networks: networks.flatMap(readPrefix),
    linkAddresses: linkAddresses.filter(isLinkAddress),
    interfaces: interfaces.filter(isInterfaceName),
  };
}

function readHeldBack({ family, since = '', settled = false, reason: why = unexplained }: Value<typeof heldBack>): HeldBackFamily[] {
  return family === 'IPv4' || family === 'IPv6' ? [{ family, since, settled, reason: readReason(why) }] : [];
}

/** Reads the drain. With an unknown phase, from another version, the node counts as Draining. */
function readDrain(item: Value<typeof drain> | undefined): Pick<NodeState, 'drain'> {
  if (item === undefined) return {};
  const { phase: word, since = '', kept = 0, withdrawn, connections } = item;
  const phase = drainPhases.find((known) => known === word) ?? 'Draining';
  return { drain: { phase, since, kept, ...defined({ withdrawn, connections }) } };
}

function readSession(item: Value<typeof session>): SessionStatus[] {
  const { peer = '', address = '', interface: device, since = '', localASN = 0, peerASN = 0, prefixesSent = 0 } = item;
  const { lastError, cause, warning } = item;
  const state = sessionStates.find((word) => word === item.state);
  if (state === undefined) return [];
  return [
    {
      peer,
      address,
      ...defined({ interface: device }),
      state,
      since,
      localASN,
      peerASN,
      prefixesSent,
      ...filled({ families: item.families.flatMap(readFamily) }),
      ...defined({ lastError, cause: cause && readReason(cause), warning: warning && readReason(warning) }),
      ...readDamping(item.damping),
      ...readBfd(item.bfd),
      ...filled({ neighbors: item.neighbors.flatMap(readNeighbor) }),
    },
  ];
}

const unexplained: Value<typeof writtenReason> = { details: {} };

function readDifference(item: Value<typeof difference>): ServiceDifference | undefined {
  const { service = '', reason: why = unexplained } = item;
  const aspect = differenceAspects.find((word) => word === item.aspect);
  return aspect === undefined || !isServiceKey(service) ? undefined : { service, aspect, reason: readReason(why) };
}

const isServiceKey = (text: string): text is ServiceKey => /^[^/]+\/[^/]+$/.test(text);

/** Reads a reason. An unknown code or unknown details become UnknownReason with the writer's text. */
function readReason({ code = '', details, message: text = '' }: Value<typeof writtenReason>): Reason {
  if (!isKnownCode(code)) return reason('UnknownReason', { code, text });
  const known = { code, details } as unknown as Reason;
  return hasAllDetails(known) ? known : reason('UnknownReason', { code, text });
}

/** True when the details contain everything that the catalogue's texts need, each a number, a text or a boolean. */
function hasAllDetails(known: Reason): boolean {
  if (!Object.values(known.details as object).every((value: unknown) => ['string', 'number', 'boolean'].includes(typeof value)))
    return false;
  try {
    return !reasonText(known).includes('undefined');
  } catch {
    return false;
  }
}
