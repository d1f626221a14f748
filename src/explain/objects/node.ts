import { usesLinks } from '../../decisions/l2/link-advertisements.ts';
import { countText } from '../text/count-text.ts';
import { defined } from '../../lang/defined.ts';
import { decideForwarding } from '../../decisions/forwarding/plan.ts';
import { l2ViewsOf, type L2View } from '../../decisions/verdict/l2-view.ts';
import { assignedAddresses } from '../../model/objects/service.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import { currentReport, hostProblemsOf, whyNoReport } from '../../model/objects/node-state.ts';
import { remedyText, reason, reasonText, type Reason } from '../../model/reasons.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { formatAddress } from '../../net/address.ts';
import { announcementsOfNode } from '../routes/node-announcements.ts';
import { limits } from '../limits.ts';
import { sourcesOf, sourceText, type NodeSources } from '../sessions/block-source.ts';
import { sessionsOfNode, sessionText, type SessionExplanation } from '../sessions/session.ts';
import { withFix } from '../text/reason-lines.ts';
import { nameSome } from '../text/table-text.ts';

/** A node's work for all Services, and its differences from the decisions. Plain data. */
interface NodeOverview {
  readonly node: string;
  readonly addresses: readonly string[];
  readonly source: NodeSources;
  readonly problem?: Reason;
  readonly host: readonly Reason[];
  /** The address families whose routes the node holds back. */
  readonly heldBack?: readonly string[];
  readonly drain?: string;
  readonly sessions: readonly (SessionExplanation & { readonly routes: number })[];
  /** Why the node has no sessions. */
  readonly noSessions?: Reason;
  /** Services that the node forwards, and their frontends. */
  readonly forwards: { readonly services: number; readonly frontends: number };
  /** Services with an address that the node announces. */
  readonly announces: number;
  /** Reasons why the node does not announce other Services with an address, each with those Services. */
  readonly silent: readonly { readonly reason: Reason; readonly services: readonly ServiceKey[] }[];
  /** Services that differ from what was decided, as the agent reports. */
  readonly differing: readonly { readonly service: ServiceKey; readonly reason: Reason }[];
  /** True when more Services differ than the agent can list. */
  readonly truncated: boolean;
}

/** `now` is in milliseconds since the epoch, for the age of the report. `source` says what the snapshot is based on. */
export function explainNode(
  snapshot: Snapshot,
  node: string,
  now: number,
  source: NodeSources = sourcesOf(snapshot, node, now),
): NodeOverview | undefined {
  const object = snapshot.nodes.get(node);
  const last = snapshot.nodeStates.get(node);
  if (object === undefined && last === undefined) return undefined;
  const state = currentReport(snapshot.nodeStates, node, now);
  const problem =
    object === undefined ? reason('NodeUnknown', { node }) : state === undefined ? whyNoReport(snapshot.nodeStates, node) : state.problem;
  const { routes, services } = announcementsOfNode(snapshot, node, now);
  const sessions = sessionsOfNode(snapshot, node, now).map((session) => ({ ...session, routes: routes.get(session.peer)?.length ?? 0 }));
  const forwarding = [...snapshot.services.values()].map(
    (service) => decideForwarding(snapshot, service, node).forwarding?.frontends.length ?? 0,
  );
  const refusals = [...services].flatMap(([service, { addresses }]) => {
    const candidates = addresses.filter(({ type }) => type !== 'ClusterIP');
    if (candidates.some(({ result }) => result.announce)) return [];
    const onLinks = onLinksOf(snapshot, service, node, now);
    if (onLinks.some((view) => view.reason === undefined)) return [];
    const because = onLinks[0]?.reason ?? candidates.flatMap(({ result }) => (result.announce ? [] : [result.reason]))[0];
    return because === undefined ? [] : [{ service, reason: because }];
  });
  return {
    node,
    addresses: (object?.internalIPs ?? []).map(formatAddress),
    source,
    ...defined({ problem }),
    host: state === undefined ? [] : hostProblemsOf(state),
    ...(state?.heldBack === undefined
      ? {}
      : {
          heldBack: state.heldBack.map(({ family, since, settled }) => `${family} since ${since}${settled ? '' : ', about to withdraw'}`),
        }),
    ...(state?.drain === undefined ? {} : { drain: `${state.drain.phase} since ${state.drain.since}` }),
    sessions,
    ...(sessions.length === 0 ? { noSessions: reason('NoPeers', { node }) } : {}),
    forwards: { services: forwarding.filter((count) => count > 0).length, frontends: forwarding.reduce((sum, count) => sum + count, 0) },
    announces: [...services].filter(
      ([service, { addresses }]) =>
        addresses.some(({ result }) => result.announce) ||
        onLinksOf(snapshot, service, node, now).some((view) => view.reason === undefined),
    ).length,
    silent: [...Map.groupBy(refusals, (one) => reasonText(one.reason)).values()].flatMap((group) => {
      const [first] = group;
      return first === undefined ? [] : [{ reason: first.reason, services: group.map(({ service }) => service).slice(0, limits.services) }];
    }),
    differing: (state?.differing ?? []).map(({ service, reason: because }) => ({ service, reason: because })),
    truncated: state?.truncated === true,
  };
}

/** Returns the node's work by ARP and NDP for each address of the Service that an L2Advertisement covers. */
function onLinksOf(snapshot: Snapshot, key: ServiceKey, node: string, now: number): readonly L2View[] {
  const service = snapshot.services.get(key);
  if (service === undefined || !usesLinks(snapshot)) return [];
  const viewOf = l2ViewsOf(snapshot, service, now);
  return assignedAddresses(service).flatMap((address) => viewOf(address, node) ?? []);
}

export function renderNodeOverview(overview: NodeOverview): string[] {
  const { node, addresses, source, problem, host, heldBack, drain, sessions, noSessions, forwards, announces, silent, differing } =
    overview;
  return [
    `Node ${node}${sourceText(source)}`,
    '',
    `Addresses  ${addresses.join(', ') || 'none'}`,
    ...(problem === undefined ? [] : withFix('Problem    ', problem)),
    ...host.flatMap((because) => withFix('Host       ', because)),
    ...(heldBack === undefined ? [] : [`Held back  ${heldBack.join('; ')}`]),
    ...(drain === undefined ? [] : [`Drain      ${drain}`]),
    `Forwards   ${problem === undefined ? '' : 'should: '}${countText(forwards.frontends, 'frontend')} of ${countText(forwards.services, 'Service')}`,
    `Announces  ${problem === undefined ? '' : 'would: '}${countText(announces, 'Service')}`,
    ...silent.flatMap(({ reason: because, services }) => [
      `           not ${nameSome(services, 3)}: ${reasonText(because)}`,
      ...(remedyText(because) === '' ? [] : [`               fix: ${remedyText(because)}`]),
    ]),
    ...sessions.map((session) => `Session    ${sessionText(session)}, ${countText(session.routes, 'route')} for it`),
    ...sessions.flatMap(({ reason: because }) => (because === undefined ? [] : withFix('           ', because))),
    ...(noSessions === undefined ? [] : withFix('Session    none: ', noSessions)),
    ...differing.flatMap(({ service, reason: because }) => withFix(`Differs    ${service}: `, because)),
    ...(overview.truncated ? ['           more Services differ than the agent lists'] : []),
  ];
}
