import { liveView, type LiveNode, type LiveNodes, type LiveView } from '../../explain/sessions/live-view.ts';
import { defined } from '../../lang/defined.ts';
import {
  livePaths,
  type LiveAddress,
  type LiveCheck,
  type LiveEndpointConnections,
  type LiveIndex,
  type LiveLink,
  type LiveReceivedRoute,
  type LiveRoute,
  type LiveSession,
} from '../../live/contract.ts';
import type { CommandContext } from '../context/command-context.ts';
import { limits } from '../limits.ts';
import { findProcessesIfAny } from '../live/find-processes.ts';
import { askEach, fetchAllPages, type LiveClient, type ProcessFilter, type UnreachableProcess } from '../live/live-client.ts';
import type { ReadingOptions } from './open-reading.ts';
import type { Reading } from './reading.ts';

interface AskedNodes {
  readonly live: LiveNodes;
  /** The processes that were found. */
  readonly processes: readonly Pick<LiveClient, 'who' | 'process'>[];
  /** Processes that could not be queried. Their nodes are shown by their reports. */
  readonly unasked: readonly UnreachableProcess[];
}

/** By default only agents are found. */
export interface NodeQuery extends ProcessFilter {
  /** Which routes to query besides the sessions. Absent: none. */
  readonly routes?: { readonly peer?: string | undefined; readonly service?: string | undefined };
  /** Query the routes that peers announced. */
  readonly received?: { readonly peer?: string | undefined };
  /** Query the links, and the addresses of the Service of `routes`, that are announced by ARP and NDP. */
  readonly l2?: boolean;
  /** Query what was seen of connections to this Service. */
  readonly checks?: string;
  /** Query the connections by endpoint: of one Service, or of all. */
  readonly connections?: { readonly service: string | undefined };
}

/**
 * Finds processes and queries agents for their sessions and the routes that they have sent. A command works without any agent, from
 * decisions and reports. The answer of an agent counts only as a whole, so that no node is shown from two sources.
 */
export async function queryNodes(context: CommandContext, options: ReadingOptions, query: NodeQuery): Promise<AskedNodes> {
  // Manifests have no running processes.
  if (options.ask === false || options.file !== undefined) return { live: new Map(), processes: [], unasked: [] };
  const found = await findProcessesIfAny(context, options, { node: query.node, of: query.of ?? ['agent'] }, 'agents');
  const { answers, unasked } = await askEach(found, async (client) => {
    const { node } = client.process;
    return node === undefined ? undefined : { node, who: client.who, ...(await answerOf(client, query)) };
  });
  const known = answers.filter((one) => one !== undefined);
  const why = `it has more than ${limits.liveRoutes} routes`;
  const partial = known.flatMap(({ node, who, more }) => (more ? [{ who, node, why, fix: 'use --peer or --service' }] : []));
  return {
    live: new Map(known.map(({ node, answer }) => [node, answer])),
    processes: found.clients,
    unasked: [...unasked, ...partial],
  };
}

/** Queries agents for their sessions and puts the answers in place of the reports. */
export async function askedView(
  context: CommandContext,
  options: ReadingOptions,
  { snapshot, now }: Pick<Reading, 'snapshot' | 'now'>,
  query: NodeQuery = {},
): Promise<LiveView & Pick<AskedNodes, 'processes' | 'unasked'>> {
  const { live, ...rest } = await queryNodes(context, options, query);
  return { ...liveView(snapshot, live, now), ...rest };
}

/** The metrics port answers one list at a time. */
async function answerOf(
  client: LiveClient,
  { routes, received, l2, checks, connections }: NodeQuery,
): Promise<{ readonly answer: LiveNode; readonly more: boolean }> {
  const { items: sessions, process } = await fetchAllPages<LiveSession>(client, livePaths.sessions, {}, limits.liveSessions);
  const { started } = process;
  const links = {
    ...(l2 === true ? await l2Of(client, routes?.service) : {}),
    ...(checks === undefined ? {} : await checksOf(client, checks)),
    ...(connections === undefined ? {} : await connectionsOf(client, connections)),
  };
  if (received !== undefined) {
    const { items, more } = await receivedOf(client, received);
    return { answer: { started, sessions, ...links, ...(items === undefined ? {} : { received: items }) }, more };
  }
  if (routes === undefined) return { answer: { started, sessions, ...links }, more: false };
  const given = Object.fromEntries(Object.entries(routes).filter((entry): entry is [string, string] => entry[1] !== undefined));
  const { items, more } = await fetchAllPages<LiveRoute>(client, livePaths.routes, given, limits.liveRoutes);
  return { answer: { started, sessions, routes: items, ...links }, more };
}

async function receivedOf(
  client: LiveClient,
  { peer }: NonNullable<NodeQuery['received']>,
): Promise<{ readonly items?: readonly LiveReceivedRoute[]; readonly more: boolean }> {
  const { paths } = (await client.ask(livePaths.index, {})) as Partial<LiveIndex>;
  // An agent of an older version does not have the list.
  if (paths?.includes(livePaths.received) !== true) return { more: false };
  return await fetchAllPages<LiveReceivedRoute>(client, livePaths.received, peer === undefined ? {} : { peer }, limits.liveRoutes);
}

async function checksOf(client: LiveClient, service: string): Promise<Pick<LiveNode, 'checks'>> {
  const { paths } = (await client.ask(livePaths.index, {})) as Partial<LiveIndex>;
  // An agent of an older version does not have the list.
  if (paths?.includes(livePaths.checks) !== true) return {};
  return { checks: (await fetchAllPages<LiveCheck>(client, livePaths.checks, { service }, limits.liveChecks)).items };
}

async function connectionsOf(
  client: LiveClient,
  { service }: NonNullable<NodeQuery['connections']>,
): Promise<Pick<LiveNode, 'connections'>> {
  const { paths } = (await client.ask(livePaths.index, {})) as Partial<LiveIndex>;
  // An agent of an older version does not have the list.
  if (paths?.includes(livePaths.endpoints) !== true) return {};
  const wanted = { ...defined({ service }) };
  return { connections: (await fetchAllPages<LiveEndpointConnections>(client, livePaths.endpoints, wanted, limits.liveEndpoints)).items };
}

async function l2Of(client: LiveClient, service: string | undefined): Promise<Pick<LiveNode, 'links' | 'addresses'>> {
  const { paths } = (await client.ask(livePaths.index, {})) as Partial<LiveIndex>;
  // An agent of an older version does not have the lists.
  if (paths?.includes(livePaths.links) !== true) return {};
  const { items: links } = await fetchAllPages<LiveLink>(client, livePaths.links, {}, limits.liveLinks);
  if (service === undefined) return { links };
  const { items: addresses } = await fetchAllPages<LiveAddress>(client, livePaths.addresses, { service }, limits.liveAddresses);
  return { links, addresses };
}
