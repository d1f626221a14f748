import { timingSafeEqual } from 'node:crypto';
import type { LocalRequest } from '../../system/http/local-server.ts';
import { checkType, consolePaths, manifestType } from '../contract.ts';

/** The secrets of one run of the console. */
export interface Secrets {
  /** In the address that the command prints. */
  readonly token: string;
  /** In the cookie that replaces the token. */
  readonly session: string;
}

/** The paths that take POST, each with a type that no form can send. */
const posted: ReadonlyMap<string, { readonly type: string; readonly what: string }> = new Map([
  [consolePaths.plan, { type: manifestType, what: 'Manifests' }],
  [consolePaths.check, { type: checkType, what: 'Checks' }],
]);

/** Why a request is not answered. Each message says what to do. */
export interface Refusal {
  readonly status: 400 | 401 | 403 | 405 | 415 | 421;
  readonly message: string;
}

type Admission = { readonly as: 'session' } | { readonly as: 'newcomer' } | ({ readonly as: 'refused' } & Refusal);

/**
 * Decides which requests are answered. A web page of another site can make the browser send requests to this server, and its name can
 * resolve to the loopback address (DNS rebinding). So the server must be called by its own address, from its own page, with its own cookie.
 */
export class Guard {
  readonly #secrets: Secrets;
  readonly #hosts: ReadonlySet<string>;
  readonly #cookie: string;

  constructor(port: number, secrets: Secrets) {
    this.#secrets = secrets;
    this.#hosts = new Set([`127.0.0.1:${port}`, `localhost:${port}`]);
    // Cookies are sent to every port of a host. The name keeps two consoles apart.
    this.#cookie = `herald-console-${port}`;
  }

  /** The header field that gives a browser the session. Scripts cannot read it, and no request from another site carries it. */
  get setCookie(): string {
    return `${this.#cookie}=${this.#secrets.session}; Path=/; HttpOnly; SameSite=Strict`;
  }

  admit({ method, path, query, headers }: Pick<LocalRequest, 'method' | 'path' | 'query' | 'headers'>): Admission {
    const taken = posted.get(path);
    if (taken !== undefined ? method !== 'POST' : method !== 'GET' && method !== 'HEAD')
      return refused(405, 'The console only shows: it answers GET, and POST where it plans manifests or checks a Service.');
    if (!path.startsWith('/') || path.startsWith('//')) return refused(400, 'The console is not a proxy.');
    const { host = '', origin, cookie = '' } = headers;
    if (!this.#hosts.has(host)) return refused(421, 'Open the address that the command printed: another name for this host is refused.');
    if (origin !== undefined && origin !== `http://${host}`) return refused(403, 'Requests of other sites are refused.');
    // Browsers send the Origin with every POST, and ask before they send this type to another site.
    if (taken !== undefined && origin === undefined) return refused(403, `${taken.what} are taken from the page of the console alone.`);
    if (taken !== undefined && headers['content-type'] !== taken.type) return refused(415, `Send ${taken.type}.`);
    const site = headers['sec-fetch-site'];
    const isNewcomer = path === '/' && query.has('token');
    // A link to the address with the token may be on any page, such as a terminal in the browser.
    const isOpened = isNewcomer && headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document';
    if (site !== undefined && site !== 'same-origin' && site !== 'none' && !isOpened)
      return refused(403, 'Requests of other sites are refused.');
    if (isNewcomer) {
      if (isSame(query.get('token') ?? '', this.#secrets.token)) return { as: 'newcomer' };
      return refused(403, 'This address is of an earlier run. Open the address that the running command printed.');
    }
    const sessions = cookie
      .split('; ')
      .flatMap((pair) => (pair.startsWith(`${this.#cookie}=`) ? [pair.slice(this.#cookie.length + 1)] : []));
    if (sessions.some((session) => isSame(session, this.#secrets.session))) return { as: 'session' };
    return refused(401, 'Open the address that the command printed: it has the token that lets this browser in.');
  }
}

function refused(status: Refusal['status'], message: string): Admission {
  return { as: 'refused', status, message };
}

/** Takes equally long whatever the first difference is, so that a secret cannot be guessed octet by octet. */
function isSame(given: string, secret: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(secret)];
  return a.length === b.length && timingSafeEqual(a, b);
}
