import { defined } from '../../lang/defined.ts';
import { formatAddress } from '../../net/address.ts';
import type { AnswerQuestion, AnswerRoute, AnswerWay, LostAnswers, Neighbor, WrongNeighbor } from '../../net/endpoint-way.ts';
import { formatPrefix } from '../../net/prefix.ts';
import type { Cancel, Clock } from '../../system/clock.ts';
import type { Log } from '../../system/log.ts';
import { limits } from '../limits.ts';
import type { ReadWays } from './endpoint-ways.ts';

interface ClientWaysComponents {
  /** Absent: this host cannot be asked, so nothing is found. */
  readonly ways?: ReadWays;
  readonly clock: Clock;
  readonly log: Log;
}

interface ClientWaysOptions {
  /** The clients that did not complete their latest connections, with the endpoints that answered them. */
  readonly questions: () => readonly AnswerQuestion[];
  /** Finds the interfaces by which packets of clients come. Rejects if the kernel does not answer. */
  readonly uplinks: () => Promise<Iterable<string>>;
  /** Called when `lost` has changed. */
  readonly onChanged: () => void;
}

/**
 * Finds clients that answers of endpoints certainly do not reach, by the routes of this host. It asks only about clients that did not complete a
 * connection, a bounded number at a time, and again every few seconds, so that a repair shows.
 */
export class ClientWays {
  readonly #components: ClientWaysComponents;
  readonly #options: ClientWaysOptions;
  #lost: ReadonlyMap<string, LostAnswers> = new Map();
  /** Neighbours that did not answer. The kernel soon forgets that. */
  #missing: ReadonlySet<string> = new Set();
  #askedAt = Number.NEGATIVE_INFINITY;
  #cancel: Cancel | undefined;
  #isAsking = false;
  #generation = 0;

  constructor(components: ClientWaysComponents, options: ClientWaysOptions) {
    this.#components = components;
    this.#options = options;
  }

  /** The answers that are lost, by `answerKey`. A new map after each change. */
  get lost(): ReadonlyMap<string, LostAnswers> {
    return this.#lost;
  }

  /** Called when `questions` may have changed. */
  clientsChanged(): void {
    const { ways, clock } = this.#components;
    if (ways === undefined || this.#isAsking || this.#cancel !== undefined) return;
    if (this.#lost.size === 0 && this.#options.questions().length === 0) return;
    const due = this.#askedAt + limits.answerWayMilliseconds;
    this.#cancel = clock.after(Math.max(0, due - clock.now()), () => {
      this.#cancel = undefined;
      void this.#ask(ways);
    });
  }

  /** Forgets everything. */
  stop(): void {
    this.#generation++;
    this.#cancel?.();
    this.#cancel = undefined;
    this.#lost = new Map();
    this.#missing = new Set();
  }

  async #ask(ways: ReadWays): Promise<void> {
    const { clock, log } = this.#components;
    const generation = this.#generation;
    this.#isAsking = true;
    this.#askedAt = clock.now();
    try {
      const questions = this.#options.questions().slice(0, limits.askedClients);
      const lost = questions.length === 0 ? new Map<string, LostAnswers>() : await this.#find(ways, questions);
      if (generation === this.#generation) this.#publish(lost);
    } catch (error) {
      // The result of the last look stays valid.
      log.debug({ error }, 'the routes to clients cannot be read');
    }
    this.#isAsking = false;
    if (generation === this.#generation) this.clientsChanged();
  }

  async #find(ways: ReadWays, questions: readonly AnswerQuestion[]): Promise<Map<string, LostAnswers>> {
    const uplinks = [...new Set(await this.#options.uplinks())].toSorted();
    const answers = await ways.answers(questions);
    const neighbors = answers.some(({ route }) => route !== undefined) ? await ways.neighbors() : [];
    const missing = this.#missingOf(answers, neighbors);
    this.#missing = missing;
    const wrong = new Map(neighbors.map((neighbor) => [hopKey(neighbor), neighbor.wrong]));
    return new Map(
      questions.flatMap((question, at) => {
        const answer = answers[at] ?? {};
        const lost = lostAnswers(answer, uplinks, (neighbor) => missing.has(neighbor)) ?? lostOnLink(answer, wrong, missing);
        return lost === undefined ? [] : [[answerKey(question), lost] as const];
      }),
    );
  }

  /** Returns the machines of these routes that nobody on their link answers for, now or at the last look. */
  #missingOf(answers: readonly AnswerWay[], neighbors: readonly Neighbor[]): Set<string> {
    const states = new Map(neighbors.map((neighbor) => [hopKey(neighbor), neighbor.state]));
    const used = answers.flatMap(({ route }) => (route === undefined ? [] : [hopKey(route.hop)]));
    return new Set(used.filter((key) => (states.get(key) ?? (this.#missing.has(key) ? 'failed' : 'known')) !== 'known'));
  }

  #publish(lost: ReadonlyMap<string, LostAnswers>): void {
    if (JSON.stringify([...lost]) === JSON.stringify([...this.#lost])) return;
    this.#lost = lost;
    this.#components.log.info({ clients: lost.size }, 'the clients that answers do not reach changed');
    this.#options.onChanged();
  }
}

export function answerKey({ client, endpoint }: AnswerQuestion): string {
  return `${formatAddress(client)} ${formatAddress(endpoint)}`;
}

/** The default route, unless a rule leads to it, and a route by which clients come, may well lead back to them. */
function isExpected({ prefix, interface: name, rule }: AnswerRoute, uplinks: readonly string[]): boolean {
  return (prefix.length === 0 && rule === undefined) || uplinks.includes(name);
}

/**
 * Returns why answers certainly do not reach a client. A route by another interface than those by which clients come leads elsewhere, unless its
 * machine on the link answers: a node may have several networks.
 */
function lostAnswers(
  { problem, remedy, route }: AnswerWay,
  uplinks: readonly string[],
  isMissing: (hop: string) => boolean,
): LostAnswers | undefined {
  if (problem !== undefined) return { kind: 'unroutable', route: problem, ...defined({ remedy }) };
  if (route === undefined || isExpected(route, uplinks)) return undefined;
  const { prefix, interface: name, hop, isTunnel, rule } = route;
  const leadsElsewhere = isMissing(hopKey(hop)) || ((hop.isGateway || isTunnel === true) && uplinks.length > 0);
  return leadsElsewhere ? { kind: 'elsewhere', clients: formatPrefix(prefix), interface: name, uplinks, ...defined({ rule }) } : undefined;
}

/** Returns why answers do not reach the machine to which the route leads: nobody has the link-layer address, or the gateway does not answer. */
function lostOnLink(
  { route }: AnswerWay,
  wrong: ReadonlyMap<string, WrongNeighbor | undefined>,
  missing: ReadonlySet<string>,
): LostAnswers | undefined {
  if (route === undefined) return undefined;
  const { hop, interface: name } = route;
  const found = wrong.get(hopKey(hop));
  if (found !== undefined) return { kind: 'unroutable', route: found.why, remedy: found.remedy };
  if (!hop.isGateway || !missing.has(hopKey(hop))) return undefined;
  return { kind: 'unroutable', route: `nobody on ${name} answers for the gateway ${formatAddress(hop.address)}` };
}

const hopKey = ({ index, address }: { readonly index: number; readonly address: AnswerQuestion['client'] }): string =>
  `${index} ${formatAddress(address)}`;
