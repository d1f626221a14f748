import { whySessionOf } from './sessions/session-down.ts';
import type { NodeState } from '../../model/objects/node-state.ts';
import { reason, type Reason } from '../../model/reasons.ts';

/** Routes of one address of a Service to one peer. */
interface RoutesOfAddress {
  readonly peer: string;
  readonly prefixes: readonly string[];
  /** Returns the keys of the address's frontends on the node. Called only when something differs. */
  readonly frontends: () => readonly string[];
}

/** Returns why decided routes are not at their peer, by the report; undefined: they are. `ofService`: its differences. */
export function missingRouteReason(
  state: NodeState,
  ofService: NodeState['differing'],
  { peer, prefixes, frontends }: RoutesOfAddress,
): Reason | undefined {
  const concerning = ofService.filter((difference) => concerns(difference.reason, peer, prefixes));
  const held = concerning.length === 0 ? undefined : nodeDifference(concerning, frontends());
  return held ?? whySessionOf(state, peer);
}

/** Some reasons concern one prefix, or one prefix at one peer. Those of ARP and NDP concern no route, and one that
 * another path contends with is at the peer. */
function concerns({ code, details }: Reason, peer: string, prefixes: readonly string[]): boolean {
  if (code.startsWith('L2') || code === 'PrefixContended') return false;
  if (code === 'UnreachableRouteMissing') return prefixes.includes(details.prefix);
  if (code === 'PeerFamilyNotNegotiated') {
    return details.peer === peer && prefixes.some((prefix) => prefix.includes(':') === (details.family === 'IPv6'));
  }
  return code !== 'RouteNotPossible' || (details.peer === peer && prefixes.includes(details.prefix));
}

/**
 * Returns why the agent holds a route back. The report names one frontend of a Service, which explains only its own address. Other
 * addresses are held back when the kernel refused every frontend that they have.
 */
function nodeDifference(ofService: NodeState['differing'], frontends: readonly string[]): Reason | undefined {
  const held = ofService.find(({ aspect }) => aspect === 'Announced')?.reason;
  if (held?.code === 'AwaitsForwarding') return frontends.includes(held.details.frontend) ? held : undefined;
  if (held === undefined || held.code !== 'NotProgrammed' || frontends.includes(held.details.frontend)) return held;
  const refused = new Set(
    ofService.flatMap(({ reason: { code, details } }) =>
      code === 'FrontendQuarantined' || code === 'FrontendTaken' ? [details.frontend] : [],
    ),
  );
  const [first] = frontends;
  if (first === undefined || !frontends.every((frontend) => refused.has(frontend))) return undefined;
  return reason('NotProgrammed', { frontend: first });
}
