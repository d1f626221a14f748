import { randomBytes } from 'node:crypto';
import { defined } from '../lang/defined.ts';
import { isRecord } from '../lang/is-record.ts';
import { historyKinds, type HistoryKind } from '../live/contract.ts';
import type { ServiceKey } from '../model/objects/metadata.ts';
import type { Clock } from '../system/clock.ts';
import type { HttpListener } from '../system/http/http-listener.ts';
import { listenLocal, type LocalAnswer, type LocalRequest } from '../system/http/local-server.ts';
import { consolePaths, lists, type ConsoleProblem } from './contract.ts';
import { Guard, type Refusal } from './guard/guard.ts';
import { securityHeaders } from './guard/headers.ts';
import { limits } from './limits.ts';
import { enteringPage, messagePage } from './pages.ts';
import type { Facts, HistoryQuestion } from './picture.ts';
import { Pictures } from './pictures.ts';
import { checkView } from './views/check.ts';
import { historyView, momentView } from './views/history.ts';
import { outsideView } from './views/outside.ts';
import { planView } from './views/plan.ts';
import { timeOf, timeText } from './views/reading-facts.ts';
import { serviceView } from './views/service.ts';

/** A file of the page. */
export interface PageFile {
  /** "app.js". The page itself is "index.html". */
  readonly name: string;
  readonly type: string;
  readonly content: string;
}

interface ConsoleParts {
  readonly facts: Facts;
  readonly files: readonly PageFile[];
  readonly clock: Clock;
  readonly stopped: AbortSignal;
}

export interface RunningConsole {
  /** With the token: whoever opens it sees what the caller may see. */
  readonly address: string;
  /** Resolves when the signal has aborted and the port is free. */
  readonly ended: Promise<void>;
}

/** Serves the console on the loopback address. Rejects with ListenError. `port` 0: the kernel chooses. */
export async function startConsole(port: number, parts: ConsoleParts): Promise<RunningConsole> {
  const secrets = { token: randomBytes(32).toString('base64url'), session: randomBytes(32).toString('base64url') };
  const pictures = new Pictures(parts.facts, parts);
  const { promise: answers, resolve } = Promise.withResolvers<Answers>();
  const listener = await listenLocal(port, async (request) => (await answers).answer(request), limits);
  resolve(new Answers(new Guard(listener.port, secrets), pictures, parts));
  return { address: `http://127.0.0.1:${listener.port}/?token=${secrets.token}`, ended: followAndClose(pictures, listener) };
}

async function followAndClose(pictures: Pictures, listener: HttpListener): Promise<void> {
  try {
    await pictures.follow();
  } finally {
    await listener.close();
  }
}

/** The paths at which the page itself is sent. It shows the view of its path. */
const pagePaths: ReadonlySet<string> = new Set(['/', '/services', '/service', '/fabric', '/addresses', '/history', '/what-if']);

class Answers {
  readonly #guard: Guard;
  readonly #pictures: Pictures;
  readonly #facts: Facts;
  readonly #clock: Clock;
  readonly #files: ReadonlyMap<string, PageFile>;
  #followers = 0;
  #plans = 0;
  #checks = 0;

  constructor(guard: Guard, pictures: Pictures, { facts, files, clock }: Pick<ConsoleParts, 'facts' | 'files' | 'clock'>) {
    this.#guard = guard;
    this.#pictures = pictures;
    this.#facts = facts;
    this.#clock = clock;
    this.#files = new Map(files.map((file) => [`/${file.name}`, file]));
  }

  async answer(request: LocalRequest): Promise<LocalAnswer> {
    const admission = this.#guard.admit(request);
    if (admission.as === 'refused') return this.#refusal(request, admission);
    if (admission.as === 'newcomer') return html(200, enteringPage(), { 'Set-Cookie': this.#guard.setCookie });
    const { path } = request;
    if (path.startsWith('/api/')) return this.#api(request);
    const file = this.#files.get(pagePaths.has(path) ? '/index.html' : path);
    if (file === undefined) return html(404, messagePage('There is no such page.', 'Go to the start: /'));
    return answerOf(200, file.type, file.content);
  }

  #refusal({ path }: LocalRequest, { status, message }: Refusal): LocalAnswer {
    if (path.startsWith('/api/')) return json(status, { error: 'refused', fix: message });
    return html(status, messagePage('The console does not answer this.', message));
  }

  async #api(request: LocalRequest): Promise<LocalAnswer> {
    const { path, query } = request;
    if (path === consolePaths.changes) return this.#changes();
    if (path === consolePaths.service) return this.#service(query.get('name') ?? '');
    if (path === consolePaths.history) return this.#history(query);
    if (path === consolePaths.outside)
      return this.#told(async () => json(200, this.#facts.redact(outsideView(await this.#facts.outside())) as object), repeated);
    if (path === consolePaths.plan) return this.#plan(request);
    if (path === consolePaths.check) return this.#check(request);
    const name = lists.find((one) => consolePaths[one] === path);
    if (name === undefined) return json(404, { error: `there is nothing at ${path}`, fix: 'load the page again' });
    const list = await this.#pictures.list(name);
    if (list === undefined) return json(503, this.#why());
    const tag = `"${list.version}"`;
    return { ...answerOf(200, 'application/json', list.json), headers: { ...headersOf('application/json'), ETag: tag } };
  }

  #why(): ConsoleProblem {
    const { trouble } = this.#pictures.pulse();
    return { error: trouble?.message ?? 'nothing was read yet', fix: repeated };
  }

  #changes(): LocalAnswer {
    if (this.#followers >= limits.followers)
      return json(503, { error: `${limits.followers} pages follow already`, fix: 'close some of them' });
    return { status: 200, headers: headersOf('text/event-stream'), body: this.#events() };
  }

  async *#events(): AsyncGenerator<string> {
    this.#followers++;
    try {
      for await (const pulse of this.#pictures.pulses()) yield `data: ${JSON.stringify(pulse)}\n\n`;
    } finally {
      this.#followers--;
    }
  }

  async #service(name: string): Promise<LocalAnswer> {
    if (!isServiceName(name)) return json(400, { error: 'no Service is named', fix: 'choose one of the list' });
    return this.#told(async () => {
      const explained = await this.#facts.explain(name);
      if (explained !== undefined) return json(200, this.#facts.redact(serviceView(explained)) as object);
      const whys = this.#facts.whyUnexplained(name).map((line) => this.#facts.redact(line));
      if (whys.length > 0) return json(404, { error: `Service ${name} cannot be explained: ${whys.join(' ')}`, fix: '' });
      return json(404, { error: `there is no Service ${name}`, fix: 'it may have been deleted: go back to the list' });
    }, repeated);
  }

  async #history(query: URLSearchParams): Promise<LocalAnswer> {
    const question = historyQuestion(query);
    if (question === undefined) return json(400, { error: 'no object is named', fix: 'choose a Service, a BGPPeer or a node' });
    const { at } = question;
    const anHourAgo = (): string => timeText(this.#clock.date().getTime() - limits.historyMilliseconds);
    const of = question.of.name === undefined ? { since: anHourAgo(), ...question.of } : question.of;
    return this.#told(async () => {
      const recalled = await this.#facts.history(of);
      const moment = at === undefined ? undefined : momentView(at, recalled, await this.#facts.history({ kind: 'BGPPeer' }));
      return json(200, this.#facts.redact(historyView(recalled, moment)) as object);
    }, repeated);
  }

  async #plan({ readBody }: LocalRequest): Promise<LocalAnswer> {
    if (this.#plans >= limits.plans)
      return json(503, { error: `${limits.plans} plans are being computed already`, fix: 'wait until they are done, and plan again' });
    this.#plans++;
    try {
      const body = await readBody(limits.manifestBytes);
      if (body === undefined)
        return json(413, {
          error: `the manifests have more than ${limits.manifestBytes} octets`,
          fix: 'leave out objects that do not change, or run herald plan -f FILE',
        });
      const manifests = textIn(body);
      if (manifests === undefined) return json(400, { error: 'the manifests are no UTF-8 text', fix: 'save the file as UTF-8' });
      const planned = async () => json(200, this.#facts.redact(planView(await this.#facts.plan(manifests))) as object);
      return await this.#told(planned, 'plan again, or run herald plan -f FILE');
    } finally {
      this.#plans--;
    }
  }

  async #check({ readBody }: LocalRequest): Promise<LocalAnswer> {
    if (this.#checks >= limits.checks)
      return json(503, { error: 'a check is running already', fix: 'wait until it is done, and check again' });
    this.#checks++;
    try {
      const name = serviceIn((await readBody(limits.checkBytes)) ?? new Uint8Array());
      if (name === undefined) return json(400, { error: 'no Service is named', fix: 'choose one of the list' });
      return await this.#told(async () => {
        const checked = await this.#facts.check(name);
        if (checked !== undefined) return json(200, this.#facts.redact(checkView(checked)) as object);
        return json(404, { error: `there is no Service ${name}`, fix: 'it may have been deleted: go back to the list' });
      }, `check again, or run herald check service ${name}`);
    } finally {
      this.#checks--;
    }
  }

  async #told(work: () => Promise<LocalAnswer>, fix: string): Promise<LocalAnswer> {
    try {
      return await work();
    } catch (error) {
      const message = String(this.#facts.redact(error instanceof Error ? error.message : String(error)));
      return json(503, { error: message, fix });
    }
  }
}

function isServiceName(name: unknown): name is ServiceKey {
  return typeof name === 'string' && name.length <= limits.name && /^[^/\s]+\/[^/\s]+$/.test(name) && !name.startsWith('-');
}

/** Returns the Service that a request for a check names. Undefined: none. */
function serviceIn(octets: Uint8Array): ServiceKey | undefined {
  try {
    const content: unknown = JSON.parse(textIn(octets) ?? '');
    const name = isRecord(content) ? content['service'] : undefined;
    return isServiceName(name) ? name : undefined;
  } catch {
    return undefined;
  }
}

function textIn(octets: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(octets);
  } catch {
    return undefined;
  }
}

const repeated = 'the console tries again by itself';

/** Undefined: the query names no object, or no time. */
function historyQuestion(query: URLSearchParams): { readonly of: HistoryQuestion; readonly at?: string } | undefined {
  const [kind, name, since, at] = ['kind', 'name', 'since', 'at'].map((one) => query.get(one) ?? undefined);
  if ([since, at].some((time) => time !== undefined && Number.isNaN(timeOf(time)))) return undefined;
  if (kind === undefined) return name === undefined && at === undefined ? { of: defined({ since }) } : undefined;
  if (!isHistoryKind(kind) || name === '' || (name ?? '').length > limits.name) return undefined;
  if (at !== undefined && (kind !== 'Service' || name === undefined)) return undefined;
  return { of: { kind, ...defined({ name, since }) }, ...defined({ at }) };
}

function isHistoryKind(kind: string): kind is HistoryKind {
  return historyKinds.some((one) => one === kind);
}

function headersOf(type: string): Record<string, string> {
  return { ...securityHeaders, 'Content-Type': type };
}

function answerOf(status: number, type: string, body: string): LocalAnswer & { readonly body: string } {
  return { status, headers: headersOf(type), body };
}

const json = (status: number, content: object): LocalAnswer => answerOf(status, 'application/json', JSON.stringify(content));

function html(status: number, body: string, more: Readonly<Record<string, string>> = {}): LocalAnswer {
  const answer = answerOf(status, 'text/html; charset=utf-8', body);
  return { ...answer, headers: { ...answer.headers, ...more } };
}
