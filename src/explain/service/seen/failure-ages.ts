import type { LiveEndpointCheck } from '../../../live/contract.ts';
import type { ViewedFailure } from '../../../decisions/verdict/node-view.ts';
import { limits } from '../../limits.ts';
import type { LiveNodes } from '../../sessions/live-view.ts';
import { secondsSince } from '../../text/age.ts';
import type { NodeExplanation } from '../service-node.ts';

/** How an agent lists the connections of a reason. */
const outcomes = {
  EndpointRefuses: 'refused',
  EndpointSilent: 'silent',
  EndpointDropped: 'dropped',
} as const;

/**
 * Adds when connections failed last, where that was some time ago: the mistake may be mended since. Only where every node that saw them fail was
 * asked, because another one may have seen a later one.
 */
export function withFailureAges(nodes: readonly NodeExplanation[], live: LiveNodes, now: number): NodeExplanation[] {
  const seeing = nodes.filter(({ failing = [] }) => failing.length > 0);
  if (seeing.some(({ node }) => live.get(node)?.checks === undefined)) return [...nodes];
  const seen = seeing.flatMap(({ node }) => live.get(node)?.checks ?? []).flatMap(({ endpoints }) => endpoints);
  return nodes.map((node) => {
    const { failing } = node;
    return failing === undefined ? node : { ...node, failing: failing.map((one) => withAge(one, seen, now)) };
  });
}

function withAge(failing: ViewedFailure, seen: readonly LiveEndpointCheck[], now: number): ViewedFailure {
  const because = failing.reason;
  if (because.code !== 'EndpointRefuses' && because.code !== 'EndpointSilent' && because.code !== 'EndpointDropped') return failing;
  const named = new Set(because.details.endpoints.split(/, | and /));
  const ages = seen.filter(({ endpoint }) => named.has(endpoint)).flatMap((one) => secondsSince(one[outcomes[because.code]], now) ?? []);
  const secondsAgo = Math.min(...ages);
  if (ages.length === 0 || secondsAgo < limits.presentSeconds) return failing;
  return { ...failing, reason: { ...because, details: { ...because.details, secondsAgo } } };
}
