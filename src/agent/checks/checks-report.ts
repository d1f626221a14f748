import { defined } from '../../lang/defined.ts';
import type { ChecksReport, CheckMode, FailingEndpoints } from '../../model/objects/node-state.ts';
import { reason, type Reason, type ReasonCode } from '../../model/reasons.ts';
import { limits } from '../limits.ts';
import { portKey } from './checked-frontends.ts';
import type { FailingEndpoint, FailureKind, Judgement } from './connection-evidence.ts';

/** Returns what a NodeState says of connections, with bounded lists. `blind`: why connections, or some of them, cannot be seen. */
export function checksReport(node: string, mode: CheckMode, blind: string | undefined, { answered, failing }: Judgement): ChecksReport {
  return {
    mode,
    ...(blind === undefined ? {} : { problem: reason('ChecksBlind', { why: blind }) }),
    answered: answered.slice(0, limits.answeredFrontends),
    ...(answered.length > limits.answeredFrontends ? { truncated: true } : {}),
    failing: failingEndpoints(node, failing).slice(0, limits.failingEndpoints),
  };
}

/** Returns one entry for each port and reason. */
function failingEndpoints(node: string, failing: readonly FailingEndpoint[]): FailingEndpoints[] {
  const alike = Map.groupBy(failing, (one) => `${portKey(one)} ${one.kind} ${JSON.stringify([one.way, one.lost])}`);
  const entries = [...alike].map(([key, ofReason]) => ({ key, entry: entryOf(node, ofReason) }));
  return entries.toSorted((a, b) => (a.key < b.key ? -1 : 1)).flatMap(({ entry }) => entry);
}

function entryOf(node: string, failing: readonly FailingEndpoint[]): FailingEndpoints[] {
  const [first] = failing;
  if (first === undefined) return [];
  const { service, family, port, areAll } = first;
  const names = failing.map(({ endpoint }) => endpoint).toSorted();
  return [{ service, family, port, areAll, reason: reasonOf(node, listed(names), first) }];
}

function reasonOf(node: string, endpoints: string, { kind, way, lost }: FailingEndpoint): Reason {
  if (way?.kind === 'unroutable')
    return reason('EndpointUnroutable', { node, endpoints, route: way.route, ...defined({ remedy: way.remedy }) });
  if (way?.kind === 'notOnLink') return reason('EndpointNotOnLink', { node, endpoints, interface: way.interface });
  if (way?.kind === 'onOtherNode') {
    const { slice, other, shownBy } = way;
    return reason('EndpointOnOtherNode', { node, endpoints, slice, other, shownBy });
  }
  if (lost?.kind === 'unroutable')
    return reason('EndpointAnswersLost', { node, endpoints, route: lost.route, ...defined({ remedy: lost.remedy }) });
  if (lost !== undefined) {
    const { clients, interface: name, uplinks, rule } = lost;
    const [uplink] = uplinks;
    return reason('EndpointAnswersLost', {
      node,
      endpoints,
      clients,
      interface: name,
      ...(uplink === undefined ? {} : { uplinks: listed(uplinks) }),
      ...(rule === undefined ? {} : { rule: rule.text, table: String(rule.table), preference: rule.preference }),
    });
  }
  return reason(codes[kind], { node, endpoints });
}

const codes = {
  unfinished: 'ClientsDoNotComplete',
  dropped: 'EndpointDropped',
  refused: 'EndpointRefuses',
  silent: 'EndpointSilent',
  hangs: 'EndpointHangs',
  onlyListens: 'EndpointSendsNothing',
  largeUnacknowledged: 'LargeAnswersUnacknowledged',
  unacknowledged: 'AnswersUnacknowledged',
  // These have a way that is named before.
  unroutable: 'EndpointSilent',
  notOnLink: 'EndpointSilent',
  onOtherNode: 'EndpointSilent',
} as const satisfies Record<FailureKind, ReasonCode>;

/** Returns "a", "a and b", or "a, b, c and 2 others". */
function listed(names: readonly string[]): string {
  const shown = names.slice(0, limits.namedEndpoints);
  const others = names.length - shown.length;
  if (others > 0) return `${shown.join(', ')} and ${others} ${others === 1 ? 'other' : 'others'}`;
  return shown.length < 2 ? shown.join('') : `${shown.slice(0, -1).join(', ')} and ${shown.at(-1)}`;
}
