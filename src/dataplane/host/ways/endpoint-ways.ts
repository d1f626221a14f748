import { defined } from '../../../lang/defined.ts';
import { formatAddress, type Address, type Family } from '../../../net/address.ts';
import type { AnswerQuestion, AnswerWay, Neighbor, RouteAnswer, RouteChange } from '../../../net/endpoint-way.ts';
import { formatPrefix, type Prefix } from '../../../net/prefix.ts';
import type { Cancel, Clock } from '../../../system/clock.ts';
import { NetlinkConnection, type Answer, type Request } from '../../../system/netlink/connection.ts';
import { NetlinkError } from '../../../system/netlink/error.ts';
import { followChanges } from '../../../system/netlink/follow-changes.ts';
import { requestsPerDatagram } from '../../../system/netlink/limits.ts';
import { listLinks, readLink } from '../../../system/netlink/link-messages.ts';
import { openNetlink, routeProtocol } from '../../../system/netlink/socket.ts';
import { linkWatchRestart } from '../../limits.ts';
import { routeProtocol as ourProtocol, routingTable, rulePreference } from '../../routes/unreachable-routes.ts';
import { findAnswerWays } from './answer-ways.ts';
import { findWrongNeighbors } from './fixed-neighbors.ts';
import { RouteIndex } from './route-index.ts';
import {
  droppingTypes,
  listNeighbors,
  listRoutes,
  listRules,
  noRouteErrno,
  readFoundRoute,
  readListedRoute,
  readListedRule,
  readNeighbor,
  readRouteChange,
  wayGroups,
  wayQuestion,
  type FoundRoute,
  type ListedRule,
} from './way-messages.ts';

/** Reads the ways from this host to addresses. Every method that returns a promise rejects with NetlinkError. */
export interface WayReader {
  /** Asks the kernel for the routes to the addresses, in their order. One question for each address, and a few more if one has no way. */
  readonly routes: (addresses: readonly Address[]) => Promise<readonly RouteAnswer[]>;
  /** Asks by which ways answers of endpoints leave, in the order of the questions. Five questions for each, and lists of links, of rules, and of routes that drop packets if one is dropped. */
  readonly answers: (questions: readonly AnswerQuestion[]) => Promise<readonly AnswerWay[]>;
  /** Returns the machines on links of which the kernel knows. */
  readonly neighbors: () => Promise<readonly Neighbor[]>;
  /** Returns the names of interfaces by index. */
  readonly interfaces: () => Promise<ReadonlyMap<number, string>>;
  /** Calls `changed` when the kernel reports that routes may have changed, until the returned function is called. */
  readonly follow: (changed: (change: RouteChange) => void) => Cancel;
}

/** Undefined: this machine has no FFI. `networkNamespace` is a file such as /run/netns/node1. */
export function wayReader(clock: Clock, networkNamespace?: string): WayReader | undefined {
  const where = { protocol: routeProtocol, ...defined({ networkNamespace }) };
  const probe = openNetlink(where);
  if (probe === undefined) return undefined;
  probe.close();
  const withConnection = async <T>(work: (connection: NetlinkConnection) => Promise<T>): Promise<T> => {
    const socket = openNetlink({ ...where, strict: true });
    if (socket === undefined) throw new NetlinkError('there is no FFI', noRouteErrno);
    try {
      return await work(new NetlinkConnection(socket, clock));
    } finally {
      socket.close();
    }
  };
  return {
    routes: (addresses) => withConnection((connection) => findRoutes(connection, addresses)),
    answers: (questions) =>
      withConnection(async (connection) => {
        const direct = await findRoutes(
          connection,
          questions.map(({ client }) => client),
        );
        const ask = (requests: readonly Request[]): Promise<Answer[]> => askEach(connection, requests);
        return findAnswerWays({ connection, ask }, questions, direct);
      }),
    neighbors: () => withConnection(findNeighbors),
    interfaces: () => withConnection(linkNames),
    follow: (changed) =>
      followChanges({ ...where, groups: wayGroups }, clock, {
        isChange(message) {
          const change = readRouteChange(message);
          if (change !== 'none') changed(change);
          return false;
        },
        changed: () => changed(undefined),
        restartMilliseconds: linkWatchRestart,
      }),
  };
}

async function findNeighbors(connection: NetlinkConnection): Promise<Neighbor[]> {
  const entries = await connection.list(listNeighbors, readNeighbor);
  const fixed = entries.flatMap(({ fixed: linkAddress, index, address }) =>
    linkAddress === undefined || isOfGroup(linkAddress) ? [] : [{ index, address, linkAddress }],
  );
  const needsLinks = fixed.length > 0 || entries.some(({ state }) => state !== 'known');
  const links = needsLinks ? await connection.list(listLinks, readLink) : [];
  const names = new Map(links.map(({ index, name }) => [index, name]));
  const wrong = await findWrongNeighbors((requests) => askEach(connection, requests), links, fixed);
  const wrongs = new Map([...wrong].map(([{ index, address }, found]) => [`${index} ${formatAddress(address)}`, found]));
  return entries.map(({ index, address, state, age }) => ({
    index,
    address,
    state,
    age,
    interface: names.get(index) ?? String(index),
    ...defined({ wrong: wrongs.get(`${index} ${formatAddress(address)}`) }),
  }));
}

/** The kernel sets the entries of multicast and broadcast addresses by itself. */
const isOfGroup = (linkAddress: string): boolean => (Number.parseInt(linkAddress.slice(0, 2), 16) & 1) === 1;

async function findRoutes(connection: NetlinkConnection, addresses: readonly Address[]): Promise<RouteAnswer[]> {
  const questions = addresses.map((address) => wayQuestion(address, true));
  const answers = await askEach(connection, questions);
  const failures: Failure[] = [];
  const found = addresses.map((address, at): FoundRoute | undefined => {
    const { payloads = [], errno = 0 } = answers[at] ?? {};
    if (payloads[0] !== undefined) return readFoundRoute(payloads[0], address);
    failures.push({ at, address, errno });
    return undefined;
  });
  const problems = await problemsOfLinks(connection, found);
  for (const family of [4, 6] as const) {
    const routes = new FamilyRoutes(connection, family);
    for (const failure of failures) {
      if (failure.address.family === family) problems.set(failure.at, await routes.explain(failure));
    }
    const covered = await routes.coveredByOurs(
      addresses.filter((address, at) => address.family === family && found[at]?.isLocal === false),
    );
    for (const [at, address] of addresses.entries()) {
      const prefix = covered.get(address);
      if (prefix !== undefined) problems.set(at, `route unreachable ${formatPrefix(prefix)}, which Herald has set for an aggregate`);
    }
  }
  return found.map((route, at) => ({
    ...defined({ problem: problems.get(at), hop: route?.hop }),
    ...(route?.isSpread === true ? { isSpread: true as const } : {}),
  }));
}

/** Names the interfaces without a carrier by which routes leave. */
async function problemsOfLinks(
  connection: NetlinkConnection,
  found: readonly (FoundRoute | undefined)[],
): Promise<Map<number, string | undefined>> {
  const problems = new Map<number, string | undefined>();
  let names: ReadonlyMap<number, string> | undefined;
  for (const [at, route] of found.entries()) {
    if (route?.downIndex === undefined) continue;
    names ??= await linkNames(connection);
    const name = names.get(route.downIndex) ?? String(route.downIndex);
    problems.set(at, `route ${formatPrefix(route.prefix)} leaves by ${name}, which has no carrier`);
  }
  return problems;
}

interface Failure {
  /** Place among the addresses. */
  readonly at: number;
  readonly address: Address;
  readonly errno: number;
}

/** The table of the addresses of this host. */
const localTable = 255;

/**
 * The routes and rules of a family, as far as they explain an answer of the kernel. Each list is read when it is first needed, in the hope that
 * there is no failure.
 */
class FamilyRoutes {
  readonly #connection: NetlinkConnection;
  readonly #family: Family;
  readonly #lists = new Map<string, Promise<RouteIndex>>();
  #rules: Promise<readonly ListedRule[]> | undefined;

  constructor(connection: NetlinkConnection, family: Family) {
    this.#connection = connection;
    this.#family = family;
  }

  /** Names why the kernel has no way to an address. Undefined: a packet from a client may still have one, or the answer is not understood. */
  async explain({ address, errno }: Failure): Promise<string | undefined> {
    const isDropped = droppingTypes.find((each) => each.errno === errno);
    if (isDropped === undefined && errno !== noRouteErrno) return undefined;
    // The kernel does not give the route to some addresses of its own, and refuses to name it with the error of an unreachable one.
    const [again] = await askEach(this.#connection, [wayQuestion(address, false)]);
    if (again?.errno !== errno) return undefined;
    const rules = await this.#readRules();
    const others = rules.filter(({ table, isConditional }) => isConditional && table !== routingTable);
    if (await this.#leadsAnywhere(address, others)) return undefined;
    if (isDropped === undefined) return 'no route';
    const dropping = await this.#listed({ type: isDropped.type });
    const candidates = dropping.longest(address).filter(({ table }) => table !== routingTable);
    const names = new Set(candidates.map(({ prefix }) => formatPrefix(prefix)));
    // Only the longest one of each table; with several tables, the kernel has chosen one of them.
    return names.size === 1 ? `route ${isDropped.name} ${[...names].join('')}` : `a route or rule of type ${isDropped.name}`;
  }

  /**
   * Returns the addresses that our own unreachable routes keep clients' packets from, with the route. They apply to forwarded packets only, so
   * the kernel does not answer with them.
   */
  async coveredByOurs(addresses: readonly Address[]): Promise<Map<Address, Prefix>> {
    const covered = new Map<Address, Prefix>();
    if (addresses.length === 0) return covered;
    const ours = await this.#listed({ table: routingTable });
    if (ours.isEmpty) return covered;
    const rules = await this.#readRules();
    if (!rules.some(({ table, preference }) => table === routingTable && preference === rulePreference)) return covered;
    const before = rules.filter(({ preference, table }) => preference < rulePreference && table !== localTable);
    for (const address of addresses) {
      const [route] = ours.longest(address);
      const isOurs = route?.protocol === ourProtocol && !route.isUsable;
      if (isOurs && !(await this.#leadsAnywhere(address, before))) covered.set(address, route.prefix);
    }
    return covered;
  }

  /** True if a packet that one of the rules matches may have a way. */
  async #leadsAnywhere(address: Address, rules: readonly ListedRule[]): Promise<boolean> {
    if (rules.some(({ isOfVrfs }) => isOfVrfs)) return true;
    for (const table of new Set(rules.map((rule) => rule.table)))
      if (table !== 0 && (await this.#listed({ table })).longest(address).some(({ isUsable }) => isUsable)) return true;
    return false;
  }

  #readRules(): Promise<readonly ListedRule[]> {
    return (this.#rules ??= this.#connection.list(listRules(this.#family), readListedRule));
  }

  #listed(which: { readonly table?: number; readonly type?: number }): Promise<RouteIndex> {
    const key = `${which.table} ${which.type}`;
    const list = this.#lists.get(key) ?? this.#list(which);
    this.#lists.set(key, list);
    return list;
  }

  async #list(which: { readonly table?: number; readonly type?: number }): Promise<RouteIndex> {
    try {
      return new RouteIndex(await this.#connection.list(listRoutes(this.#family, which), readListedRoute));
    } catch (error) {
      // The table does not exist.
      if (error instanceof NetlinkError && error.code === 'ENOENT') return new RouteIndex([]);
      throw error;
    }
  }
}

async function askEach(connection: NetlinkConnection, requests: readonly Request[]): Promise<Answer[]> {
  const answers: Answer[] = [];
  for (let start = 0; start < requests.length; start += requestsPerDatagram)
    answers.push(...(await connection.requestEach(requests.slice(start, start + requestsPerDatagram))));
  return answers;
}

async function linkNames(connection: NetlinkConnection): Promise<ReadonlyMap<number, string>> {
  const links = await connection.list(listLinks, readLink);
  return new Map(links.map(({ index, name }) => [index, name]));
}
