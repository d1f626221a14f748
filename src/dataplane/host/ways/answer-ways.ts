import { defined } from '../../../lang/defined.ts';
import type { Family } from '../../../net/address.ts';
import type { AnswerQuestion, AnswerWay, LeadingRule, RouteAnswer } from '../../../net/endpoint-way.ts';
import { formatPrefix } from '../../../net/prefix.ts';
import type { Answer, NetlinkConnection, Request } from '../../../system/netlink/connection.ts';
import { listLinks, readLink, type KernelLink } from '../../../system/netlink/link-messages.ts';
import { ipCommand, isFor, isUsualTable, policyRuleText, readPolicyRule, type PassedPacket, type PolicyRule } from './policy-rules.ts';
import { RouteIndex } from './route-index.ts';
import { answerQuestion, droppingTypes, listRoutes, listRules, readFoundRoute, readListedRoute, wayQuestion } from './way-messages.ts';

interface Asked {
  readonly connection: NetlinkConnection;
  /** Asks all, in their order. */
  readonly ask: (requests: readonly Request[]) => Promise<Answer[]>;
}

/**
 * Asks the kernel by which routes it passes the answers of endpoints on to clients, as of packets without a mark that come from the endpoint.
 * `direct`: the problems of packets of its own to the clients. Rejects with NetlinkError.
 */
export async function findAnswerWays(
  { connection, ask }: Asked,
  questions: readonly AnswerQuestion[],
  direct: readonly RouteAnswer[],
): Promise<AnswerWay[]> {
  const policies = new Map<Family, FamilyPolicy>();
  for (const family of new Set(questions.map(({ client }) => client.family)))
    policies.set(family, new FamilyPolicy(connection, family, await connection.list(listRules(family), readPolicyRule)));
  // As of one packet: a route by several gateways names no interface.
  const toEndpoints = await ask(questions.map(({ endpoint }) => wayQuestion(endpoint, false)));
  const incoming = questions.map(({ endpoint }, at) => {
    const payload = toEndpoints[at]?.payloads[0];
    return payload === undefined ? undefined : readFoundRoute(payload, endpoint).hop?.index;
  });
  const answers = await ask(questions.map(({ client, endpoint }, at) => answerQuestion(client, endpoint, incoming[at])));
  const links = new Map((await connection.list(listLinks, readLink)).map((link) => [link.index, link]));
  const ways = questions.map(async ({ client, endpoint }, at): Promise<AnswerWay> => {
    const policy = policies.get(client.family);
    const packet = { source: endpoint, destination: client, incoming: links.get(incoming[at] ?? 0)?.name ?? 'lo' };
    const { payloads: [payload] = [], errno = 0 } = answers[at] ?? {};
    const problem = direct[at]?.problem;
    if (policy === undefined || policy.isUnclear) return {};
    if (payload === undefined) return (await policy.explain(packet, errno)) ?? defined({ problem });
    return wayOf(payload, { packet, policy, links, ...defined({ problem }) });
  });
  return Promise.all(ways);
}

interface Found {
  readonly packet: PassedPacket;
  readonly policy: FamilyPolicy;
  readonly links: ReadonlyMap<number, KernelLink>;
  readonly problem?: string;
}

function wayOf(payload: Uint8Array, { packet, policy, links, problem }: Found): AnswerWay {
  const { prefix, table, hop, downIndex } = readFoundRoute(payload, packet.destination);
  if (hop === undefined) return {};
  if (downIndex !== undefined && problem !== undefined) return { problem };
  const link = links.get(hop.index);
  const rule = policy.leadingTo(table, packet);
  const name = link?.name ?? String(hop.index);
  return { route: { prefix, hop, interface: name, ...(link?.noArp === true ? { isTunnel: true } : {}), ...defined({ rule }) } };
}

/** The rules of a family, in their order, and the routes that drop packets. */
class FamilyPolicy {
  readonly #connection: NetlinkConnection;
  readonly #family: Family;
  readonly #rules: readonly PolicyRule[];
  #dropping: Promise<RouteIndex> | undefined;

  constructor(connection: NetlinkConnection, family: Family, rules: readonly PolicyRule[]) {
    this.#connection = connection;
    this.#family = family;
    this.#rules = rules.toSorted((a, b) => a.preference - b.preference);
  }

  /** Some rule may be for a packet by what no question tells of it. */
  get isUnclear(): boolean {
    return this.#rules.some(({ isUnclear, isOfHost }) => isUnclear && !isOfHost);
  }

  /** Returns the rule by which the packet comes to a table. Undefined: it is a usual table, or the rule is not known. */
  leadingTo(table: number, packet: PassedPacket): LeadingRule | undefined {
    if (isUsualTable(table)) return undefined;
    const rule = this.#rules.find((one) => one.action === 'lookup' && one.table === table && isFor(one, packet));
    return rule === undefined ? undefined : { preference: rule.preference, text: policyRuleText(rule), table };
  }

  /** Names the rule or the route that drops the packet. Undefined: none is known. `errno`: the kernel's answer. */
  async explain(packet: PassedPacket, errno: number): Promise<AnswerWay | undefined> {
    const dropped = droppingTypes.find((each) => each.errno === errno);
    if (dropped === undefined) return undefined;
    this.#dropping ??= this.#connection.list(listRoutes(this.#family, {}), readListedRoute).then((routes) => new RouteIndex(routes));
    const routes = (await this.#dropping).longest(packet.destination);
    for (const rule of this.#rules.filter((one) => isFor(one, packet))) {
      if (rule.action === dropped.name)
        return { problem: `rule ${policyRuleText(rule)}`, remedy: `${ipCommand(this.#family, 'rule')} del pref ${rule.preference}` };
      const route = routes.find(({ table, type }) => rule.action === 'lookup' && table === rule.table && type === dropped.type);
      if (route === undefined) continue;
      const isUsual = isUsualTable(route.table);
      const named = `${dropped.name} ${formatPrefix(route.prefix)}`;
      return {
        problem: `route ${named}${isUsual ? '' : ` of table ${route.table}, to which rule ${policyRuleText(rule)} leads`}`,
        remedy: `${ipCommand(this.#family, 'route')} del ${named}${isUsual ? '' : ` table ${route.table}`}`,
      };
    }
    return undefined;
  }
}
