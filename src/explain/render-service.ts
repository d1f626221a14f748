import { fix, says, type Reason } from '../model/reasons.ts';
import type { AddressExplanation, NodeExplanation, ServiceExplanation } from './service.ts';

/** An explanation as lines for a terminal: every "no" with its reason, and below it what to do. */
export function renderService(explanation: ServiceExplanation): string[] {
  const { service, type, allocation, endpoints, nodes } = explanation;
  const terminating = endpoints.terminating === 0 ? '' : `, ${endpoints.terminating} terminating but serving`;
  return [
    `Service ${service} (${type})`,
    '',
    ...renderAllocation(allocation),
    `Endpoints  ${endpoints.ready} ready${terminating}, ${endpoints.unusable} not usable`,
    ...nodes.flatMap((node) => ['', ...renderNode(node)]),
    ...(nodes.length === 0 ? ['', 'There is no Node object, so nothing is announced or forwarded.'] : []),
  ];
}

function renderAllocation({ addresses, reason, pools }: ServiceExplanation['allocation']): string[] {
  const held = addresses.map(({ address, pool }) => (pool === undefined ? `${address} (in no pool)` : `${address} (pool ${pool})`));
  const first = `Address    ${held.length > 0 ? held.join(', ') : 'none'}`;
  if (reason === undefined) return held.length > 0 ? [first] : [`${first} yet: the controller has not assigned one; is it running?`];
  return [
    first,
    ...withFix('           ', reason),
    ...pools.flatMap(({ pool, reason: refusal }) => (refusal === undefined ? [] : withFix(`           pool ${pool}: `, refusal))),
  ];
}

function renderNode({ node, reports, frontends, forwarding, reason, addresses }: NodeExplanation): string[] {
  return [
    `Node ${node}${reports ? '' : '  (no agent reports)'}`,
    `  forwards   ${frontends} frontend${frontends === 1 ? '' : 's'}`,
    ...forwarding.flatMap((because) => withFix('             ', because)),
    ...(reason === undefined ? [] : withFix('  announces  nothing: ', reason)),
    ...addresses.flatMap(renderAddress),
  ];
}

function renderAddress({ address, type, reason, peers, refused }: AddressExplanation): string[] {
  const title = type === 'LoadBalancer' ? address : `${address} (${type})`;
  return [
    ...(reason === undefined ? [`  announces  ${title}`] : withFix(`  announces  not ${title}: `, reason)),
    ...peers.flatMap((peer) => {
      if (peer.reason !== undefined) return withFix(`             not to ${peer.peer}: `, peer.reason);
      return [`             to ${peer.peer} as ${peer.prefixes.join(', ')}`];
    }),
    ...refused.flatMap(({ reason: because }) => withFix('             ', because)),
  ];
}

function withFix(lead: string, because: Reason): string[] {
  const todo = fix(because);
  const indent = ' '.repeat(lead.length - lead.trimStart().length + (lead.trimStart() === '' ? 0 : 2));
  return [`${lead}${says(because)}`, ...(todo === '' ? [] : [`${indent}fix: ${todo}`])];
}
