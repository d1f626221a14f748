import { fix, says, type Reason } from '../model/reasons.ts';
import type { AddressExplanation, BalancingExplanation, NodeExplanation, ServiceExplanation } from './service.ts';

/** An explanation as lines for a terminal: every "no" with its reason, and below it what to do. */
export function renderService(explanation: ServiceExplanation): string[] {
  const { service, type, allocation, endpoints, balancing, nodes } = explanation;
  const terminating = endpoints.terminating === 0 ? '' : `, ${endpoints.terminating} terminating but serving`;
  return [
    `Service ${service} (${type})`,
    '',
    ...renderAllocation(allocation),
    `Endpoints  ${endpoints.ready} ready${terminating}, ${endpoints.unusable} not usable`,
    ...(balancing === undefined ? [] : [renderBalancing(balancing)]),
    ...nodes.flatMap((node) => ['', ...renderNode(node)]),
    ...(nodes.length === 0 ? ['', 'There is no Node object, so nothing is announced or forwarded.'] : []),
  ];
}

function renderBalancing(balancing: BalancingExplanation): string {
  if (balancing.algorithm === 'random') return 'Balancing  random';
  const source = balancing.hashed === 'client' ? 'source address' : 'source address and port';
  return `Balancing  consistent: by ${source}, the same on every node (${balancing.slots} slots); NodePorts and ClusterIPs random`;
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

function renderNode(explanation: NodeExplanation): string[] {
  const { node, problem, host, reportedSecondsAgo, directReturn, frontends, elsewhere, healthCheck, forwarding, reason, addresses } =
    explanation;
  const age = reportedSecondsAgo === undefined ? '' : `  (reported ${reportedSecondsAgo} s ago)`;
  return [
    `Node ${node}${age}`,
    ...(problem === undefined ? [] : withFix('  ', problem)),
    ...host.flatMap((because) => withFix('  host: ', because)),
    `  ${problem === undefined ? 'forwards' : 'should forward'} ${frontends} frontend${frontends === 1 ? '' : 's'}${elsewhere === 0 ? '' : `, leaves ${elsewhere} to another program`}`,
    ...(directReturn === undefined ? [] : [renderDirectReturn(directReturn)]),
    ...forwarding.flatMap((because) => withFix('    ', because)),
    ...(healthCheck === undefined ? [] : [renderHealthCheck(healthCheck)]),
    ...(reason === undefined ? [] : withFix('  announces nothing: ', reason)),
    ...addresses.flatMap(renderAddress),
  ];
}

function renderDirectReturn({ receives, passes }: NonNullable<NodeExplanation['directReturn']>): string {
  return `    direct server return: passes packets on by ${passes.join(', ') || 'nothing'}; receives by ${receives.join(', ') || 'nothing'}`;
}

function renderHealthCheck({ port, localEndpoints }: NonNullable<NodeExplanation['healthCheck']>): string {
  const answers = localEndpoints.map(({ family, count }) => `${count > 0 ? 200 : 503} over ${family} (${count} ready here)`);
  return `  answers load balancers at port ${port}: ${answers.join(', ')}`;
}

function renderAddress({ address, type, reason, peers, refused }: AddressExplanation): string[] {
  const title = type === 'LoadBalancer' ? address : `${address} (${type})`;
  if (type === 'ClusterIP' && (reason?.code === 'NoAdvertisement' || reason?.code === 'ServiceNotSelected')) {
    return [`  ${title} stays inside the cluster: no BGPAdvertisement selects it`];
  }
  const named = ({ peer, prefixes }: (typeof peers)[number]): string =>
    prefixes.every((prefix) => isHostRoute(prefix, address)) ? peer : `${peer} as ${prefixes.join(', ')}`;
  const names = peers.filter((peer) => peer.reason === undefined).map(named);
  // That the agent does not run was said of the node.
  const expected = peers.filter((peer) => peer.reason?.code === 'AgentSilent' || peer.reason?.code === 'AgentStopped');
  // A session for each family is the usual way: that one does not carry the other's addresses is no news where another does.
  const obstacles = peers.filter((peer) => !expected.includes(peer) && !(peer.reason?.code === 'PeerFamilyNotCarried' && peers.length > 1));
  return [
    ...(reason === undefined ? [] : withFix(`  ${title} is not announced: `, reason)),
    ...(names.length === 0 ? [] : [`  ${title} is announced to ${names.join(', ')}`]),
    ...(expected.length === 0 ? [] : [`  ${title} would be announced to ${expected.map(named).join(', ')}`]),
    ...obstacles.flatMap((peer) =>
      peer.reason === undefined ? [] : withFix(`  ${title} is not announced to ${peer.peer}: `, peer.reason),
    ),
    ...peers.flatMap(({ warning }) => (warning === undefined ? [] : withFix('    warning: ', warning))),
    ...refused.flatMap(({ reason: because }) => withFix('    ', because)),
  ];
}

function isHostRoute(prefix: string, address: string): boolean {
  return prefix === `${address}/32` || prefix === `${address}/128`;
}

function withFix(lead: string, because: Reason): string[] {
  const todo = fix(because);
  const margin = lead.length - lead.trimStart().length;
  const indent = ' '.repeat(lead.trimStart() === '' ? lead.length : margin + 4);
  return [`${lead}${says(because)}`, ...(todo === '' ? [] : [`${indent}fix: ${todo}`])];
}
