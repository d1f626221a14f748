import { isOtherClass } from '../../decisions/allocation/claim.ts';
import { sameContent } from '../../model/store/same-content.ts';
import { ageText } from '../text/age.ts';
import { liveRouteText } from './live-routes.ts';
import { routeText } from '../routes/route-text.ts';
import type { L2View } from '../../decisions/verdict/l2-view.ts';
import type { NodeEndpoints } from './service-endpoints.ts';
import type { AddressExplanation, NodeExplanation } from './service-node.ts';
import { sourceText } from '../sessions/block-source.ts';
import { sessionText, type SessionExplanation } from '../sessions/session.ts';
import { withFix } from '../text/reason-lines.ts';

/** Lists what one node does for a Service. `isOthers`: an earlier line says that nodes do not announce its addresses. */
export function renderNode(explanation: NodeExplanation, isOthers: boolean): string[] {
  const { node, reportedSecondsAgo, source, problem, host, forwarding } = explanation;
  const { frontends, elsewhere, endpoints = [], directReturn, healthCheck } = explanation;
  const age =
    source === undefined ? (reportedSecondsAgo === undefined ? '' : `  (reported ${ageText(reportedSecondsAgo)} ago)`) : sourceText(source);
  return [
    `Node ${node}${age}`,
    ...(problem === undefined ? [] : withFix('  ', problem)),
    ...host.flatMap((because) => withFix('  host: ', because)),
    `  ${problem === undefined ? 'forwards' : 'should forward'} ${frontends} frontend${frontends === 1 ? '' : 's'}${elsewhere === 0 ? '' : `, leaves ${elsewhere} to another program`}${frontends === 0 ? '' : endpointsText(endpoints)}`,
    ...(directReturn === undefined ? [] : [renderDirectReturn(directReturn)]),
    ...forwarding.flatMap((because) => withFix('    ', because)),
    ...(healthCheck === undefined ? [] : [renderHealthCheck(healthCheck)]),
    ...renderAnnouncement(isOthers ? withoutBalanced(explanation) : explanation),
  ];
}

/** "to 3 endpoints, 1 of them here". Families with the same text share one line. */
function endpointsText(endpoints: readonly NodeEndpoints[]): string {
  const texts = endpoints.map(({ used, here, usable, because }) => {
    const part =
      because === undefined ? '' : because === 'local' ? ` of ${usable}, as its policy is Local` : ` of ${usable}, by topology hints`;
    return `${used} endpoint${used === 1 ? '' : 's'}${part}${used > 0 && because !== 'local' ? ` (${here} here)` : ''}`;
  });
  const [first, second] = texts;
  if (first === undefined) return '';
  if (second === undefined || first === second) return ` to ${first}`;
  return ` to ${endpoints.map(({ family }, index) => `${texts[index]} over ${family}`).join(', ')}`;
}

function renderAnnouncement({ reason, addresses, sessions = [] }: NodeExplanation): string[] {
  const routes = new Map<string, string[]>();
  for (const { peers } of addresses) {
    for (const { peer, routes: sent = [], live, reason: because } of peers) {
      const lead = because === undefined ? 'sends' : 'would send';
      const decided = sent.filter(({ prefix }) => live?.some((one) => one.prefix === prefix) !== true);
      const lines = [
        ...(live ?? []).map((route) => `    has sent ${liveRouteText(route)} (asked now)`),
        ...decided.map((route) => `    ${lead} ${routeText(route)}`),
      ];
      routes.set(peer, [...(routes.get(peer) ?? []), ...lines]);
    }
  }
  return [
    ...(reason === undefined ? [] : withFix('  announces nothing: ', reason)),
    ...addresses.flatMap(renderAddress),
    ...sessions.flatMap((session) => [`  session with ${sessionText(withoutError(session))}`, ...(routes.get(session.peer) ?? [])]),
  ];
}

/** Removes load balancer addresses, which another program announces. External IPs stay. */
function withoutBalanced(explanation: NodeExplanation): NodeExplanation {
  const addresses = explanation.addresses.filter(({ type }) => type === 'ExternalIP');
  const { reason, ...others } = explanation;
  const kept = reason === undefined || isOtherClass(reason) ? others : { ...others, reason };
  return { ...kept, addresses, sessions: addresses.length === 0 ? [] : (explanation.sessions ?? []) };
}

/** Removes the session error: the lines of the addresses show it already. */
function withoutError(session: SessionExplanation): SessionExplanation {
  if (session.state === 'Established') return session;
  const { lastError: _, ...others } = session;
  return others;
}

function renderDirectReturn({ receives, passes }: NonNullable<NodeExplanation['directReturn']>): string {
  return `    direct server return: passes packets on by ${passes.join(', ') || 'nothing'}; receives by ${receives.join(', ') || 'nothing'}`;
}

function renderHealthCheck({ port, localEndpoints }: NonNullable<NodeExplanation['healthCheck']>): string {
  const answers = localEndpoints.map(({ family, count }) => `${count > 0 ? 200 : 503} over ${family} (${count} ready here)`);
  return `  answers load balancers at port ${port}: ${answers.join(', ')}`;
}

/** These reasons are printed once for the node, and not again for each peer. */
const ofTheNode = new Set<string | undefined>(['AgentSilent', 'AgentStopped', 'Undecided']);

function renderAddress({ address, type, reason, drain, heldBack, peers, l2, refused, lastResort }: AddressExplanation): string[] {
  const title = type === 'LoadBalancer' ? address : `${address} (${type})`;
  if (type === 'ClusterIP' && (reason?.code === 'NoAdvertisement' || reason?.code === 'ServiceNotSelected')) {
    return [`  ${title} stays inside the cluster: no BGPAdvertisement selects it`];
  }
  const named = ({ peer, prefixes }: (typeof peers)[number]): string =>
    prefixes.every((prefix) => isHostRoute(prefix, address)) ? peer : `${peer} as ${prefixes.join(', ')}`;
  const names = peers.filter((peer) => peer.reason === undefined).map(named);
  const expected = peers.filter((peer) => ofTheNode.has(peer.reason?.code) && peer.prefixes.length > 0);
  // Sessions usually carry one family each. A session that does not carry the other family is worth a line only if no other session carries
  // it.
  const obstacles = peers.filter((peer) => !expected.includes(peer) && !(peer.reason?.code === 'PeerFamilyNotCarried' && peers.length > 1));
  return [
    ...(reason === undefined ? [] : withFix(`  ${title} is not announced: `, reason)),
    ...(names.length === 0 ? [] : [`  ${title} is announced to ${names.join(', ')}`]),
    ...(l2 === undefined ? [] : renderL2(title, l2)),
    ...(lastResort === undefined ? [] : withFix('    as a last resort: ', lastResort)),
    ...(expected.length === 0 ? [] : [`  ${title} would be announced to ${expected.map(named).join(', ')}`]),
    ...obstacles.flatMap(({ peer, reason: because }) => {
      if (because === undefined) return [];
      const lines = withFix(`  ${title} is not announced to ${peer}: `, because);
      // An advertisement with spec.peers leaves the others out on purpose.
      return names.length > 0 && because.code === 'PeerNotInAdvertisement' ? lines.slice(0, 1) : lines;
    }),
    ...(drain === undefined ? [] : withFix('    drain: ', drain)),
    ...(heldBack === undefined ? [] : withFix('    cannot forward: ', heldBack)),
    ...peers.flatMap(({ warning }) => (warning === undefined ? [] : withFix('    warning: ', warning))),
    ...refused.flatMap(({ reason: because }) => (sameContent(because, reason) ? [] : withFix('    ', because))),
  ];
}

/** "192.0.2.1 is announced on eth0 by ARP", or why not. A candidate that waits for the owner to fail is ready. */
function renderL2(title: string, { links, reason, lastResort, warning }: L2View): string[] {
  const how = `on ${links.join(', ')} by ${title.includes(':') ? 'NDP' : 'ARP'}`;
  const first =
    reason === undefined
      ? [`  ${title} is announced ${how}`]
      : reason.code === 'L2NotOwner'
        ? [`  ${title} is ready to be announced ${how}: node "${reason.details.owner}" answers`]
        : withFix(`  ${title} is not announced by ${title.includes(':') ? 'NDP' : 'ARP'}: `, reason);
  return [
    ...first,
    ...(lastResort === undefined ? [] : withFix('    as a last resort: ', lastResort)),
    ...(warning === undefined ? [] : withFix('    warning: ', warning)),
  ];
}

function isHostRoute(prefix: string, address: string): boolean {
  return prefix === `${address}/32` || prefix === `${address}/128`;
}
