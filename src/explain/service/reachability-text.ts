import type { ClientReachability } from '../../decisions/verdict/client-reachability.ts';
import { reasonText } from '../../model/reasons.ts';

/** Returns one sentence. */
export function reachabilityText({ target, outcome, via, why, doubt, sources = [] }: ClientReachability): string {
  const what = target.endsWith('/UDP') ? 'packets' : 'connections';
  const from = sources.length === 0 ? '' : ` from ${sources.join(', ')} only`;
  const because = why === undefined ? '' : `: ${reasonText(why)}`;
  switch (outcome) {
    case 'answered':
      return `${what} to ${target} via ${via.join(', ')}${from} were answered in the last 10 minutes`;
    case 'announced':
      if (why !== undefined) return `${target} is served by ${via.join(', ')}, which has the address itself${from}, not checked`;
      return `${target} is announced by ${via.join(', ')}${from === '' ? '' : `, to ${sources.join(', ')} only`}, not checked${doubt === undefined ? '' : `: ${reasonText(doubt)}`}`;
    case 'contested':
      return `some ${what} to ${target} are answered via ${via.join(', ')}${from}, and some reach another host${because}`;
    case 'cutOff':
      return `${what} to ${target} come in via ${via.join(', ')} and time out${because}`;
    case 'partly':
      return `some ${what} to ${target} via ${via.join(', ')}${from} fail${because}`;
    case 'failing':
      return `${what} to ${target} come in via ${via.join(', ')} and fail${because}`;
    case 'expected':
      return `${what} to ${target} would be answered via ${via.join(', ')}${from}; no node reports whether they are`;
    case 'intercepted':
      return `${what} to ${target} come in via ${via.join(', ')}, where another program may translate them before Herald does${because}`;
    case 'refused':
      return `${what} to ${target} come in via ${via.join(', ')} and are refused: no endpoint serves this port`;
    case 'unreachable':
      return `${what} to ${target} time out, because no node announces it${because}`;
  }
}
