import { reachabilityText } from './client-reachability.ts';
import { isBuiltIn } from '../provider/provider.ts';
import { renderFormer, renderProvider, renderRecord } from '../provider/render-provider.ts';
import { renderNode } from './render-service-node.ts';
import type { NodeExplanation } from './service-node.ts';
import type { BalancingExplanation, ServiceExplanation } from './service.ts';
import { withFix } from '../text/reason-lines.ts';

/** An explanation as lines for a terminal: every "no" with its reason, and below it what to do. */
export function renderService(explanation: ServiceExplanation): string[] {
  const { service, type, provider, record, balancing, nodes, noNodes } = explanation;
  const isOutside = provider?.provider !== undefined && provider.provider !== 'bare-metal';
  // Whose it is was said above: that nodes announce nothing for it follows.
  const isOthers = isOutside || (provider !== undefined && provider.provider === undefined && type === 'LoadBalancer');
  return [
    `Service ${service} (${type})`,
    '',
    ...renderAddresses(explanation, isOthers),
    ...(provider === undefined ? [] : type === 'LoadBalancer' ? renderProvider(provider) : renderFormer(provider)),
    ...(record === undefined ? [] : renderRecord(record, isOutside)),
    ...renderEndpoints(explanation.endpoints),
    ...(balancing === undefined ? [] : [renderBalancing(balancing)]),
    ...renderNodes(nodes, isOthers),
    ...(noNodes === undefined ? [] : ['', ...withFix('Nodes      ', noNodes)]),
    ...renderClients(explanation, isOthers),
  ];
}

/** Of a few nodes each is shown. Of many, those that are alike are shown once: by the first of them, and the others by name. */
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

/** How long ago, or for how long: no two nodes are alike in that. */
const age = / ?(?:for |\(reported )?\d+ (?:s|min|h|d)(?: ago\))?(?=[:,]|$)/gm;

function renderAddresses({ allocation, status = [], type }: ServiceExplanation, isOthers: boolean): string[] {
  if (!isOthers) return renderAllocation(allocation);
  return type === 'LoadBalancer' ? [`Address    ${status.length > 0 ? status.join(', ') : 'none yet'}`] : [];
}

/** The closing sentences: one for each address and port, or why there is none. */
function renderClients({ type, status = [], clients, provider }: ServiceExplanation, isOthers: boolean): string[] {
  if (clients === undefined) return [];
  const views = clients.map((client) => `  ${reachabilityText(client)}`);
  if (type !== 'LoadBalancer') return views.length === 0 ? [] : ['', 'Clients', ...views];
  if (!isOthers)
    return ['', 'Clients', ...(views.length === 0 ? ['  nobody outside of the cluster can connect: the Service has no address'] : views)];
  if (provider?.provider === undefined) return ['', 'Clients', '  what they meet is for whoever serves the Service to say', ...views];
  if (!isBuiltIn(provider.provider)) return ['', 'Clients', `  ${ofModuleText(provider.provider, status)}`, ...views];
  const told =
    status.length === 0
      ? '  nobody outside of the cluster can connect: there is no load balancer yet'
      : `  connections to ${status.join(' and ')} are taken by the load balancer, which sends them to its healthy targets`;
  return ['', 'Clients', told, ...views];
}

function ofModuleText(provider: string, status: readonly string[]): string {
  if (status.length === 0) return `nobody outside of the cluster can connect: provider ${provider} has given it no address yet`;
  return `connections to ${status.join(' and ')} are taken by what provider ${provider} has made: where they go is for it to say`;
}

function renderAllocation({ addresses, reason, pools }: ServiceExplanation['allocation']): string[] {
  const held = addresses.map(({ address, pool }) => (pool === undefined ? `${address} (in no pool)` : `${address} (pool ${pool})`));
  const first = `Address    ${held.length > 0 ? held.join(', ') : 'none'}`;
  if (reason === undefined) return held.length > 0 ? [first] : [`${first} yet: the controller has not assigned one; is it running?`];
  // Where one pool's reason is the whole reason, it is said once.
  const summary = pools.some((pool) => pool.reason?.code === reason.code) ? [] : withFix('           ', reason);
  return [
    first,
    ...summary,
    ...pools.flatMap(({ pool, reason: refusal }) => (refusal === undefined ? [] : withFix(`           pool ${pool}: `, refusal))),
  ];
}

function renderEndpoints({ ready, terminating, unusable, pods = [] }: ServiceExplanation['endpoints']): string[] {
  const leaving = terminating === 0 ? '' : `, ${terminating} terminating but serving`;
  return [`Endpoints  ${ready} ready${leaving}, ${unusable} not usable`, ...pods.flatMap((because) => withFix('           ', because))];
}

function renderBalancing(balancing: BalancingExplanation): string {
  if (balancing.algorithm === 'random') return 'Balancing  random';
  const source = balancing.hashed === 'client' ? 'source address' : 'source address and port';
  return `Balancing  consistent: by ${source}, the same on every node (${balancing.slots} slots); NodePorts and ClusterIPs random`;
}
