import { withoutPoolRecord } from '../../model/objects/pool-record.ts';
import { reachabilityText } from './reachability-text.ts';
import { renderL2Address } from '../l2/render-l2.ts';
import { isBuiltIn } from '../provider/provider.ts';
import { renderFormer, renderProvider, renderRecord } from '../provider/render-provider.ts';
import { renderNodesBriefly } from './render-nodes-brief.ts';
import { renderNode } from './render-service-node.ts';
import type { NodeExplanation } from './service-node.ts';
import type { BalancingExplanation, ServiceExplanation } from './service.ts';
import type { ClientReachability } from '../../decisions/verdict/client-reachability.ts';
import { ageText } from '../text/age.ts';
import { withFix } from '../text/reason-lines.ts';
import { reasonText, stableText } from '../../model/reasons.ts';
import { listText } from '../../decisions/verdict/verdict-text.ts';

/**
 * Returns an explanation as lines for a terminal: the verdict, then each problem with its reason, and the fix below it. `brief` fits one
 * screen: it shows equal nodes once and the pool that decided, without sessions, routes and what already was said.
 */
export function renderService(explanation: ServiceExplanation, detail: 'brief' | 'whole' = 'whole'): string[] {
  const { service, verdict, type, provider, balancing, affinitySeconds, noNodes } = explanation;
  const isBrief = detail === 'brief';
  const record = isBrief ? withoutLine(explanation) : explanation.record;
  const isOutside = provider?.provider !== undefined && provider.provider !== 'bare-metal';
  // The nodes do not announce the Service's addresses, because another provider or program serves them. An earlier line says so.
  const isOthers = isOutside || (provider !== undefined && provider.provider === undefined && type === 'LoadBalancer');
  return [
    verdict.line,
    '',
    `Service ${service} (${type})`,
    '',
    ...renderAddresses(explanation, isOthers, isBrief),
    ...(provider === undefined ? [] : type === 'LoadBalancer' ? renderProvider(provider) : renderFormer(provider)),
    ...(record === undefined ? [] : renderRecord(record, isOutside)),
    ...renderEndpoints(explanation.endpoints),
    ...(balancing === undefined ? [] : [renderBalancing(balancing)]),
    ...(affinitySeconds === undefined ? [] : [`Affinity   ${affinityText(affinitySeconds, balancing)}`]),
    ...(explanation.l2 ?? []).flatMap((address) => ['', ...renderL2Address(address, isBrief)]),
    ...(isBrief ? renderBriefly(explanation, isOthers) : renderNodes(explanation.nodes, isOthers)),
    ...(noNodes === undefined ? [] : ['', ...withFix('Nodes      ', noNodes)]),
    ...renderRouters(explanation),
    ...renderClients(isBrief ? withCausesOnce(explanation) : explanation, isOthers),
  ];
}

/** With more nodes than this, nodes with equal lines are printed once, followed by the names of the others. */
const shownNodes = 4;
const namedNodes = 20;

function renderNodes(nodes: readonly NodeExplanation[], isOthers: boolean): string[] {
  const rendered = nodes.map((node) => ({ node: node.node, lines: renderNode(node, isOthers) }));
  if (nodes.length <= shownNodes) return rendered.flatMap(({ lines }) => ['', ...lines]);
  const alike = Map.groupBy(rendered, ({ node, lines }) => lines.join('\n').replaceAll(node, '').replaceAll(age, ''));
  return [...alike.values()].flatMap(([first, ...others]) => {
    if (first === undefined) return [];
    const [title = '', ...lines] = first.lines;
    const names = others.map(({ node }) => node);
    const more = names.length > namedNodes ? ` and ${names.length - namedNodes} more` : '';
    const same = names.length === 0 ? '' : `, and likewise ${names.slice(0, namedNodes).join(', ')}${more}`;
    return ['', `${title}${same}`, ...lines];
  });
}

/** Ages differ between nodes, so they are ignored when lines are compared. */
const age = / ?(?:for |\(reported )?\d+ (?:s|min|h|d)(?: ago\))?(?=[:,]|$)/gm;

function renderBriefly({ nodes, type, clients = [] }: ServiceExplanation, isOthers: boolean): string[] {
  if (nodes.length > 0 && type === 'LoadBalancer' && clients.length === 0)
    return [`Nodes      ${nodes.length}, which announce nothing for it (-o wide lists them)`];
  return renderNodesBriefly(nodes, isOthers ? ['ExternalIP'] : ['LoadBalancer', 'ExternalIP']);
}

/** The conditions, without the text of one that is the verdict. */
function withoutLine({ record, verdict }: ServiceExplanation): ServiceExplanation['record'] {
  if (record === undefined) return undefined;
  const conditions = record.conditions.map((one) =>
    withoutPoolRecord(one.message) === verdict.line ? { ...one, message: one.message.replace(verdict.line, () => 'as above') } : one,
  );
  return { ...record, conditions, events: record.events.filter(({ note }) => note !== verdict.line) };
}

function renderAddresses({ allocation, status = [], type }: ServiceExplanation, isOthers: boolean, isBrief: boolean): string[] {
  if (!isOthers) return renderAllocation(allocation, isBrief);
  return type === 'LoadBalancer' ? [`Address    ${status.length > 0 ? status.join(', ') : 'none yet'}`] : [];
}

/** Says how to find out what nobody here can know: whether a router uses the routes that it was sent. */
function renderRouters({ nodes }: ServiceExplanation): string[] {
  const sent = nodes.flatMap(({ addresses }) =>
    addresses.flatMap(({ address, type, peers }) =>
      type === 'ClusterIP' ? [] : peers.flatMap(({ peer, reason }) => (reason === undefined ? [{ peer, address }] : [])),
    ),
  );
  const [first] = sent;
  if (first === undefined) return [];
  const peers = listText([...new Set(sent.map(({ peer }) => peer))]);
  const command = `show bgp ${first.address.includes(':') ? 'ipv6' : 'ipv4'} unicast ${first.address}`;
  return ['', `Routers    what was sent to ${peers} may be unused there: run there ${command} (BIRD: show route for ${first.address})`];
}

/** Leaves out why connections to an address fail where the verdict or an earlier line has the cause. */
function withCausesOnce(explanation: ServiceExplanation): ServiceExplanation {
  const { clients, verdict } = explanation;
  if (clients === undefined) return explanation;
  const told = [verdict.line];
  const once = clients.map(({ why, ...client }) => {
    if (why === undefined) return client;
    const cause = stableText(why) ?? reasonText(why);
    if (told.some((text) => text.includes(cause))) return client;
    told.push(cause);
    return { ...client, why };
  });
  return { ...explanation, clients: once };
}

/** Returns the last lines: one for each address and port, or the reason why no client can connect. */
function renderClients({ allocation, type, status = [], clients, provider, seen }: ServiceExplanation, isOthers: boolean): string[] {
  if (clients === undefined) return [];
  const views = clients.map((client) => `  ${reachabilityText(client)}${lastSeenText(client, seen)}`);
  if (type !== 'LoadBalancer') return views.length === 0 ? [] : ['', 'Clients', ...views];
  if (!isOthers)
    return ['', 'Clients', ...(views.length === 0 ? ['  no client outside the cluster can connect: the Service has no address'] : views)];
  if (provider?.isUnnamed === true) return ['', 'Clients', `  ${ofModuleText("the controller's provider", status)}`, ...views];
  if (provider?.provider === undefined && status.length === 0 && allocation.reason?.code === 'ClassNotSet')
    return ['', 'Clients', '  no client outside the cluster can connect: no controller has given the Service an address', ...views];
  if (provider?.provider === undefined) return ['', 'Clients', '  another program serves the Service: its behavior is unknown', ...views];
  if (!isBuiltIn(provider.provider)) return ['', 'Clients', `  ${ofModuleText(`provider ${provider.provider}`, status)}`, ...views];
  const told =
    status.length === 0
      ? '  no client outside the cluster can connect: the status of the Service has no address of a load balancer yet'
      : `  connections to ${status.join(' and ')} are taken by the load balancer, which sends them to its healthy targets`;
  return ['', 'Clients', told, ...views];
}

/** " (last seen 12 s ago on node1)". Empty: no agent was asked. */
function lastSeenText({ target, outcome }: ClientReachability, { answered }: ServiceExplanation['seen']): string {
  const frontend = target.replace(/^\[?(.*?)\]?:(\d+)\/(\w+)$/, '$1 $3 $2');
  const last = answered.find((one) => one.frontend === frontend);
  if (outcome !== 'answered' || last?.secondsAgo === undefined) return '';
  return ` (last seen ${ageText(last.secondsAgo)} ago on ${last.node ?? 'a node'})`;
}

function ofModuleText(provider: string, status: readonly string[]): string {
  if (status.length === 0) return `no client outside the cluster can connect: ${provider} has given it no address yet`;
  return `connections to ${status.join(' and ')} reach the resources of ${provider}, which decides where they go`;
}

function renderAllocation(allocation: ServiceExplanation['allocation'], isBrief: boolean): string[] {
  const { addresses, expected = [], reason, pools, requestedBy } = allocation;
  const held = addresses.map(({ address, pool }) => (pool === undefined ? `${address} (in no pool)` : `${address} (pool ${pool})`));
  const given = expected.map(({ address, pool }) => (pool === undefined ? address : `${address} from pool ${pool}`));
  const request = requestedBy === undefined ? [] : [`           requested by ${requestedBy.join(' and ')}`];
  if (given.length > 0) return [`Address    none yet: would get ${given.join(', ')}`, ...request];
  const first = `Address    ${held.length > 0 ? held.join(', ') : 'none'}`;
  if (reason === undefined)
    return held.length > 0 ? [first, ...request] : [`${first} yet: the controller has not assigned one; is it running?`, ...request];
  const refusing = pools.filter((pool) => pool.reason !== undefined).length;
  const others = refusing > 1 ? [`           ${refusing} pools refuse it (-o wide lists them)`] : [];
  if (isBrief) return [first, ...request, ...withFix('           ', reason), ...others];
  // When the reason of one pool is the whole reason, it is printed once.
  const summary = pools.some((pool) => pool.reason?.code === reason.code) ? [] : withFix('           ', reason);
  return [
    first,
    ...request,
    ...summary,
    ...pools.flatMap(({ pool, reason: refusal }) => (refusal === undefined ? [] : withFix(`           pool ${pool}: `, refusal))),
  ];
}

function renderEndpoints(endpoints: ServiceExplanation['endpoints']): string[] {
  const { byFamily, pods = [] } = endpoints;
  const counts = byFamily?.map((one) => `${one.family}: ${countsText(one)}`).join('; ') ?? countsText(endpoints);
  return [`Endpoints  ${counts}`, ...pods.flatMap((because) => withFix('           ', because))];
}

function countsText({ ready, terminating, unusable }: Omit<ServiceExplanation['endpoints'], 'byFamily' | 'pods'>): string {
  return `${ready} ready${terminating === 0 ? '' : `, ${terminating} terminating but serving`}, ${unusable} not usable`;
}

function renderBalancing(balancing: BalancingExplanation): string {
  return `Balancing  ${balancingText(balancing)}`;
}

/** "a client stays at its endpoint until it was silent for 10800 s". Under a hash its address decides, however long it is silent. */
export function affinityText(seconds: number, balancing?: BalancingExplanation): string {
  if (balancing?.hash === undefined) return `a client stays at its endpoint until it was silent for ${seconds} s`;
  return `a client${balancing.elsewhere === undefined ? '' : ' from outside'} stays at its endpoint while the endpoints stay, by its address`;
}

export function balancingText({ algorithm, elsewhere, hash }: BalancingExplanation): string {
  const rest = elsewhere === undefined ? '' : `; NodePorts and ClusterIPs ${elsewhere}`;
  if (hash === undefined) return `${algorithm}${rest}`;
  const input = { connection: 'source address and port', client: 'source address', destination: 'destination address' }[hash.hashed];
  return `${algorithm}: by ${input}${hash.onEveryNode ? ', the same on every node' : ''} (${hash.slots} slots)${rest}`;
}
