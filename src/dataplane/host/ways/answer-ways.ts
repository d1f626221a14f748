import type { Family } from '../../../net/address.ts';
import type { AnswerQuestion, AnswerWay, RouteAnswer } from '../../../net/endpoint-way.ts';
import type { Answer, NetlinkConnection, Request } from '../../../system/netlink/connection.ts';
import { routingTable } from '../../routes/unreachable-routes.ts';
import { answerQuestion, listRules, readFoundRoute, readListedRule, wayQuestion } from './way-messages.ts';

interface Asked {
  readonly connection: NetlinkConnection;
  /** Asks all, in their order. */
  readonly ask: (requests: readonly Request[]) => Promise<Answer[]>;
  /** Returns the names of the interfaces by their indexes. */
  readonly names: () => Promise<ReadonlyMap<number, string>>;
}

/**
 * Asks the kernel by which routes it passes the answers of endpoints on to clients, as of packets that come from the endpoint. `direct`: what it
 * says of packets of its own to the clients. Rejects with NetlinkError.
 */
export async function findAnswerWays(
  { connection, ask, names }: Asked,
  questions: readonly AnswerQuestion[],
  direct: readonly RouteAnswer[],
): Promise<AnswerWay[]> {
  const hidden = new Map<Family, boolean>();
  for (const family of new Set(questions.map(({ client }) => client.family))) {
    const rules = await connection.list(listRules(family), readListedRule);
    hidden.set(
      family,
      rules.some(({ isHidden, table }) => isHidden && table !== routingTable),
    );
  }
  // As of one packet: a route by several gateways names no interface.
  const toEndpoints = await ask(questions.map(({ endpoint }) => wayQuestion(endpoint, false)));
  const answers = await ask(
    questions.map(({ client, endpoint }, at) => {
      const payload = toEndpoints[at]?.payloads[0];
      return answerQuestion(client, endpoint, payload === undefined ? undefined : readFoundRoute(payload, endpoint).hop?.index);
    }),
  );
  const known = await names();
  return questions.map(({ client }, at): AnswerWay => {
    if (hidden.get(client.family) === true) return {};
    const payload = answers[at]?.payloads[0];
    const problem = direct[at]?.problem;
    if (payload === undefined) return problem === undefined ? {} : { problem };
    const { prefix, hop, downIndex } = readFoundRoute(payload, client);
    if (hop === undefined) return {};
    if (downIndex !== undefined && problem !== undefined) return { problem };
    return { route: { prefix, hop, interface: known.get(hop.index) ?? String(hop.index) } };
  });
}
