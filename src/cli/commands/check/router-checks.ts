import { isForeignNextHop } from '../../../decisions/announcement/sessions/contending-path.ts';
import { explainService } from '../../../explain/service/service.ts';
import type { ReceivedPrefix, RouterCheck, Unchecked } from '../../../explain/check/facts.ts';
import { alikeUnqueried } from '../../../explain/text/unqueried.ts';
import { defined } from '../../../lang/defined.ts';
import { serviceKey } from '../../../model/objects/metadata.ts';
import type { Service } from '../../../model/objects/service.ts';
import type { CommandContext } from '../../context/command-context.ts';
import { limits } from '../../limits.ts';
import type { FindProcessesOptions } from '../../live/find-processes.ts';
import { atMost } from '../../live/pod-clients.ts';
import { queryNodes } from '../../reading/query-nodes.ts';
import type { Reading } from '../../reading/reading.ts';
import { askRouter, type RouterCommand } from './router-command.ts';

interface RouterChecks {
  readonly routers: readonly RouterCheck[];
  readonly received: readonly ReceivedPrefix[];
  readonly unchecked: readonly Unchecked[];
}

/** Finds out what routers have of the routes that Herald announces for the Service: by the user's commands, and from routes that they send. */
export async function checkRouters(
  context: CommandContext,
  options: FindProcessesOptions,
  reading: Reading,
  service: Service,
  commands: readonly RouterCommand[],
): Promise<RouterChecks> {
  const announced = announcedPrefixes(reading, service);
  const prefixes = [...new Set(announced.values().flatMap((of) => of))].toSorted();
  if (prefixes.length === 0) {
    const why = 'no route of the Service is announced to a BGPPeer';
    return { routers: [], received: [], unchecked: commands.length === 0 ? [] : [{ what: 'routers', why }] };
  }
  // A router of the name of a BGPPeer is asked for what that peer gets.
  const questions = commands.flatMap((command) => (announced.get(command.router) ?? prefixes).map((prefix) => ({ command, prefix })));
  const answers = await atMost(questions, limits.liveAtOnce, ({ command, prefix }) => askRouter(command, prefix));
  const routers = answers.map((check) => ({ ...check, ...defined({ foreign: foreignOf(check, reading) }) }));
  const heard = await receivedPrefixes(context, options, reading, prefixes);
  const seen = new Set(heard.received.map(({ route }) => route.peer));
  const unseen = commands.length > 0 ? [] : [...announced.keys()].filter((peer) => !seen.has(peer)).toSorted();
  const [first = ''] = unseen;
  const unknown: Unchecked = {
    what: unseen.length > 1 ? `${first} and ${unseen.length - 1} other BGPPeers` : first,
    why: 'they were sent routes of the Service; whether they use them is not known',
    fix: `ask them: --router "${first}=ssh HOST birdc show route {prefix}"`,
  };
  return { routers, received: heard.received, unchecked: [...heard.unchecked, ...(unseen.length === 0 ? [] : [unknown])] };
}

/** Returns the next hops of the router's route that are certainly of no Node. Undefined: there are none. A larger route may lead elsewhere. */
function foreignOf({ answer }: RouterCheck, { snapshot }: Reading): readonly string[] | undefined {
  const foreign = answer.has === 'best' ? answer.nextHops.filter((hop) => isForeignNextHop(snapshot, hop)) : [];
  return foreign.length === 0 ? undefined : foreign;
}

/** Returns the prefixes that nodes announce for the Service, by BGPPeer. */
function announcedPrefixes({ snapshot, now }: Reading, service: Service): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, Set<string>>();
  const nodes = explainService(snapshot, serviceKey(service.metadata), now)?.nodes ?? [];
  for (const { peer, prefixes } of nodes.flatMap(({ addresses }) => addresses.flatMap(({ peers }) => peers))) {
    if (prefixes.length > 0) found.set(peer, new Set([...(found.get(peer) ?? []), ...prefixes]));
  }
  return new Map([...found].map(([peer, prefixes]) => [peer, [...prefixes].toSorted()]));
}

/** Looks for the prefixes among the routes that nodes accept of routers. Asks only if a BGPPeer has `import`. */
async function receivedPrefixes(
  context: CommandContext,
  options: FindProcessesOptions,
  { snapshot }: Reading,
  prefixes: readonly string[],
): Promise<Pick<RouterChecks, 'received' | 'unchecked'>> {
  if (![...snapshot.peers.values()].some((peer) => peer.import !== undefined)) return { received: [], unchecked: [] };
  const { live, unasked } = await queryNodes(context, options, { received: {} });
  const received = [...live].flatMap(([node, { received: routes = [] }]) =>
    routes.filter(({ prefix, stale }) => prefixes.includes(prefix) && stale === undefined).map((route) => ({ node, route })),
  );
  const unchecked = alikeUnqueried(unasked).map(({ who, why, fix }) => ({ what: `routes that routers sent to ${who}`, why, fix }));
  return { received, unchecked };
}
