import { connect } from 'node:net';
import { request } from 'node:http';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { checkType, consolePaths, manifestType, type PlanView } from '../../../src/console/contract.ts';
import type { Facts, Picture, PlannedChanges } from '../../../src/console/picture.ts';
import { startConsole, type PageFile } from '../../../src/console/server.ts';
import { limits } from '../../../src/console/limits.ts';
import { systemClock } from '../../../src/system/clock.ts';
import { ListenError } from '../../../src/system/http/http-listener.ts';
import { pictureOf } from './picture-of.ts';

/** The server on a real port, attacked as a web page of another site, another name or another program would. */
const files: readonly PageFile[] = [
  { name: 'index.html', type: 'text/html; charset=utf-8', content: '<!doctype html><title>the page</title>' },
  { name: 'app.js', type: 'text/javascript; charset=utf-8', content: 'the script' },
];

let ending: AbortController;
let ended: Promise<void>;
let port: number;
let token: string;
let cookie: string;

/** What the planner was given. */
let given: string[];
/** The Services of which a check began, and the end of each check. */
let checked: string[];
let checking: PromiseWithResolvers<void>;

const planned: PlannedChanges = {
  from: 'a test',
  kind: 'directory',
  at: '',
  changes: {
    pools: [],
    addresses: [],
    owners: [],
    routes: [],
    rules: [],
    sessions: [],
    drains: [],
    unannounced: [],
    unanswered: [],
    diverted: [],
  },
  notes: [],
  lines: ['Nothing would change.'],
  summary: ['Nothing would change.'],
  outside: [],
};

const facts: Facts = {
  intervalMilliseconds: 50,
  read: async () => pictureOf({ services: [{ name: 'shop/web' }] }),
  explain: async () => undefined,
  whyUnexplained: () => [],
  check: async (service) => {
    checked.push(service);
    await checking.promise;
    return undefined;
  },
  plan: async (manifests) => (given.push(manifests), planned),
  history: async () => ({ entries: [], told: [], unasked: [] }),
  outside: async () => ({ services: [], notes: [] }),
  redact: (value) => value,
};

beforeEach(async () => {
  given = [];
  checked = [];
  checking = Promise.withResolvers();
  checking.resolve();
  ending = new AbortController();
  const running = await startConsole(0, { facts, files, clock: systemClock, stopped: ending.signal });
  ended = running.ended;
  const url = new URL(running.address);
  port = Number(url.port);
  token = url.searchParams.get('token') ?? '';
  const entered = await ask(`/?token=${token}`, { headers: {} });
  cookie = String(entered.headers['set-cookie']).split(';')[0] ?? '';
});

afterEach(async () => {
  ending.abort('SIGINT');
  await ended;
});

interface Asked {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

interface Question {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

/** Asks as the page itself does, except for what the question changes. */
function ask(path: string, { method = 'GET', headers = { Cookie: cookie }, body }: Question = {}): Promise<Asked> {
  return new Promise((resolve, reject) => {
    const sending = request({ host: '127.0.0.1', port, path, method, headers }, (response) => {
      let text = '';
      response.on('data', (chunk) => (text += String(chunk)));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }));
    });
    sending.on('error', reject);
    sending.end(body);
  });
}

const everything = [
  '/',
  '/services',
  '/app.js',
  '/api/services',
  '/api/fabric',
  '/api/addresses',
  '/api/service?name=shop/web',
  '/api/changes',
];

describe('a browser that opened the printed address', () => {
  test('gets the page, its files and the lists', async () => {
    expect(await ask('/')).toMatchObject({ status: 200, text: expect.stringContaining('the page') as string });
    expect(await ask('/app.js')).toMatchObject({ status: 200, text: 'the script' });
    const { status, text } = await ask('/api/services');
    expect([status, (JSON.parse(text) as { readonly rows: readonly object[] }).rows.length]).toEqual([200, 1]);
  });

  test('gets a cookie that no script reads and that no request of another site carries, and leaves the token', async () => {
    const { status, headers, text } = await ask(`/?token=${token}`, { headers: {} });
    expect(status).toBe(200);
    expect(String(headers['set-cookie'])).toMatch(/^herald-console-\d+=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/);
    expect(String(headers['set-cookie'])).not.toContain(token);
    expect(text).toContain('http-equiv="refresh" content="0;url=/"');
    expect(text).not.toContain(token);
  });

  test('may come from a link on another site, as that of a terminal in the browser', async () => {
    const navigation = { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'navigate', 'Sec-Fetch-Dest': 'document' };
    expect((await ask(`/?token=${token}`, { headers: navigation })).status).toBe(200);
  });

  test('follows changes as server-sent events', async () => {
    const [first] = await events(1);
    expect(first).toMatch(/^HTTP\/1\.1 200 /);
    expect(first).toContain('Content-Type: text/event-stream');
    expect(first).toMatch(/data: \{"versions":\{/);
  });
});

test('the page is there while the first read takes its time, and a pulse says that there is no picture yet', async () => {
  const { promise: picture, resolve: answer } = Promise.withResolvers<Picture>();
  const slow: Facts = { ...facts, read: () => picture };
  const stopping = new AbortController();
  const running = await startConsole(0, { facts: slow, files, clock: systemClock, stopped: stopping.signal });
  port = Number(new URL(running.address).port);
  const entered = await ask(new URL(running.address).pathname + new URL(running.address).search, { headers: {} });
  cookie = String(entered.headers['set-cookie']).split(';')[0] ?? '';
  expect((await ask('/')).status).toBe(200);
  expect((await events(1))[0]).toContain('data: {"versions":{}}');
  stopping.abort('SIGINT');
  answer(pictureOf({}));
  await running.ended;
});

describe('a client without the cookie', () => {
  test.each(everything)('gets nothing at %s', async (path) => {
    for (const headers of [
      {},
      { Cookie: 'herald-console=1' },
      { Cookie: `herald-console-${port}=${'a'.repeat(43)}` },
      { Cookie: cookie.slice(0, -1) },
    ]) {
      const { status, text } = await ask(path, { headers });
      expect(status).toBe(401);
      expect(text).toContain('Open the address that the command printed');
    }
  });

  test.each([
    ['a wrong token', 'a'.repeat(43)],
    ['a part of it', ''],
    ['an empty one', ''],
  ])('is not let in by %s', async (_, wrong) => {
    const { status, headers } = await ask(`/?token=${wrong}`, { headers: {} });
    expect([status, headers['set-cookie']]).toEqual([403, undefined]);
  });

  test('is not let in by a cookie that holds the token', async () => {
    expect((await ask('/api/services', { headers: { Cookie: `herald-console-${port}=${token}` } })).status).toBe(401);
  });
});

describe('a web page of another site', () => {
  test.each(['evil.example:PORT', '127.0.0.1.evil.example:PORT', 'evil.example', '127.0.0.1', '127.0.0.1:1', '[::1]:PORT'])(
    'reaches nothing through a name that resolves to this host (DNS rebinding): %s',
    async (name) => {
      const host = name.replace('PORT', String(port));
      for (const path of [...everything, `/?token=${token}`]) {
        const { status, headers } = await ask(path, { headers: { Host: host, Cookie: cookie } });
        expect([status, headers['set-cookie']]).toEqual([421, undefined]);
      }
    },
  );

  test.each(['http://evil.example', 'null', 'https://127.0.0.1', 'http://localhost'])(
    'reads nothing with its Origin %s',
    async (origin) => {
      for (const path of everything) expect((await ask(path, { headers: { Origin: origin, Cookie: cookie } })).status).toBe(403);
    },
  );

  test.each(['cross-site', 'same-site'])('reads and embeds nothing, as Sec-Fetch-Site says %s', async (site) => {
    for (const path of everything) expect((await ask(path, { headers: { 'Sec-Fetch-Site': site, Cookie: cookie } })).status).toBe(403);
    const embedded = { 'Sec-Fetch-Site': site, 'Sec-Fetch-Mode': 'navigate', 'Sec-Fetch-Dest': 'iframe' };
    expect((await ask(`/?token=${token}`, { headers: embedded })).status).toBe(403);
  });

  test('is given no right by a preflight request', async () => {
    const { status, headers } = await ask('/api/services', { method: 'OPTIONS', headers: { Origin: 'http://evil.example' } });
    expect([status, Object.keys(headers).filter((name) => name.startsWith('access-control'))]).toEqual([405, []]);
  });
});

describe('every answer', () => {
  test.each([...everything.filter((path) => path !== '/api/changes'), '/nothing'])(
    'forbids foreign content and frames: %s',
    async (path) => {
      for (const headers of [{ Cookie: cookie }, {}]) {
        const { headers: answer } = await ask(path, { headers });
        const policy = String(answer['content-security-policy']);
        expect(policy).toContain("default-src 'none'");
        expect(policy).toContain("script-src 'self'");
        expect(policy).toContain("frame-ancestors 'none'");
        expect(policy).toContain("require-trusted-types-for 'script'");
        expect(policy).not.toMatch(/unsafe|https?:|data:|\*/);
        expect(answer).toMatchObject({
          'x-content-type-options': 'nosniff',
          'x-frame-options': 'DENY',
          'referrer-policy': 'no-referrer',
          'cross-origin-resource-policy': 'same-origin',
          'cache-control': 'no-store',
        });
      }
    },
  );
});

describe('the server', () => {
  test.each(['POST', 'PUT', 'PATCH', 'DELETE', 'PROPFIND'])('has nothing that %s does', async (method) => {
    for (const path of everything) expect((await ask(path, { method, headers: { Cookie: cookie } })).status).toBe(405);
  });

  test.each(['/../package.json', '/..%2fpackage.json', '/%2e%2e/package.json', '/./../../etc/passwd', '/index.html/../x', '/APP.JS'])(
    'has no file but those of the page: %s',
    async (path) => {
      expect((await ask(path)).status).toBe(404);
    },
  );

  test.each(['http://evil.example/', '//evil.example/', '*'])('is no proxy for %s', async (target) => {
    const answer = await raw(`GET ${target} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nCookie: ${cookie}\r\nConnection: close\r\n\r\n`);
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
  });

  test('listens on 127.0.0.1 alone', async () => {
    for (const host of ['127.0.0.2', '::1']) {
      const failure = await new Promise<string>((resolve) => {
        const socket = connect({ port, host });
        socket.on('connect', () => resolve('connected'));
        socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? ''));
      });
      expect(failure).not.toBe('connected');
    }
  });

  test('refuses header fields beyond the limit', async () => {
    expect((await ask('/', { headers: { Cookie: cookie, 'X-Long': 'x'.repeat(limits.headerBytes) } })).status).toBe(431);
  });

  test('refuses names beyond the limit, and names of nothing', async () => {
    for (const name of ['x'.repeat(2000), '', 'web', 'a/b/c']) expect((await ask(`/api/service?name=${name}`)).status).toBe(400);
    for (const query of [
      'kind=Pod&name=x',
      'kind=Service&name=',
      'name=a/b',
      'since=yesterday',
      'kind=Node&name=x&at=2026-01-01T00:00:00Z',
    ])
      expect((await ask(`/api/history?${query}`)).status).toBe(400);
  });

  test('tells a page beyond the limit of followers so', async () => {
    const first = await events(limits.followers + 1);
    expect(first.filter((text) => text.startsWith('HTTP/1.1 503'))).toHaveLength(1);
  });

  test('says that a port is taken', async () => {
    await expect(startConsole(port, { facts, files, clock: systemClock, stopped: ending.signal })).rejects.toThrow(ListenError);
  });
});

describe('a check of a Service, which opens connections from every node', () => {
  const own = (): Record<string, string> => ({
    Cookie: cookie,
    Origin: `http://127.0.0.1:${port}`,
    'Sec-Fetch-Site': 'same-origin',
    'Content-Type': checkType,
  });
  const send = (headers: Readonly<Record<string, string>>, body = '{"service":"shop/web"}'): Promise<Asked> =>
    ask(consolePaths.check, { method: 'POST', headers, body });

  test('begins when the page of the console asks for it', async () => {
    expect((await send(own())).status).toBe(404);
    expect(checked).toEqual(['shop/web']);
  });

  test.each<readonly [string, number, Readonly<Record<string, string>>]>([
    ['no cookie', 401, { Cookie: '' }],
    ['a wrong cookie', 401, { Cookie: `herald-console=${'a'.repeat(43)}` }],
    ['no Origin', 403, { Origin: '' }],
    ['the Origin of another site', 403, { Origin: 'http://evil.example' }],
    ['the Origin of another port', 403, { Origin: 'http://127.0.0.1:1' }],
    ['Sec-Fetch-Site of another site', 403, { 'Sec-Fetch-Site': 'cross-site' }],
    ['a name that resolves to this host', 421, { Host: 'evil.example' }],
    ['the type of a form', 415, { 'Content-Type': 'application/x-www-form-urlencoded' }],
    ['the type of text, which a form of another site can send', 415, { 'Content-Type': 'text/plain' }],
    ['the type of manifests', 415, { 'Content-Type': manifestType }],
    ['no type', 415, { 'Content-Type': '' }],
  ])('does not begin with %s', async (_, status, changes) => {
    const headers = Object.fromEntries(Object.entries({ ...own(), ...changes }).filter(([, value]) => value !== ''));
    expect((await send(headers)).status).toBe(status);
    expect(checked).toEqual([]);
  });

  test.each(['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])('does not begin by %s', async (method) => {
    expect((await ask(consolePaths.check, { method, headers: own() })).status).toBe(405);
    expect(checked).toEqual([]);
  });

  test.each([
    ['nothing', ''],
    ['no JSON', 'shop/web'],
    ['no name', '{"service":7}'],
    ['a name without a namespace', '{"service":"web"}'],
    ['an option', '{"service":"--context/x"}'],
    ['two words', '{"service":"shop/web --node x"}'],
    ['more than the limit', `{"service":"shop/${'w'.repeat(limits.checkBytes)}"}`],
  ])('does not begin for %s', async (_, body) => {
    expect((await send(own(), body)).status).toBe(400);
    expect(checked).toEqual([]);
  });

  test('waits for the one that runs', async () => {
    checking = Promise.withResolvers();
    const first = send(own());
    await expect.poll(() => checked).toHaveLength(1);
    const { status, text } = await send(own());
    expect([status, JSON.parse(text)]).toEqual([
      503,
      { error: 'a check is running already', fix: 'wait until it is done, and check again' },
    ]);
    checking.resolve();
    expect((await first).status).toBe(404);
    expect((await send(own())).status).toBe(404);
  });
});

describe('manifests to plan', () => {
  const pool = 'apiVersion: herald.dev/v1alpha1\nkind: IPAddressPool\nmetadata: { name: é }\n';
  const own = (): Record<string, string> => ({
    Cookie: cookie,
    Origin: `http://127.0.0.1:${port}`,
    'Sec-Fetch-Site': 'same-origin',
    'Content-Type': manifestType,
  });
  const send = (headers: Readonly<Record<string, string>>, body: string | Uint8Array = pool): Promise<Asked> =>
    ask(consolePaths.plan, { method: 'POST', headers, body });

  test('are planned when the page of the console sends them', async () => {
    const { status, text, headers } = await send(own());
    expect([status, (JSON.parse(text) as PlanView).lines, given]).toEqual([200, ['Nothing would change.'], [pool]]);
    expect(headers['content-security-policy']).toContain("default-src 'none'");
  });

  test.each<readonly [string, number, Readonly<Record<string, string>>]>([
    ['no cookie', 401, { Cookie: '' }],
    ['a wrong cookie', 401, { Cookie: `herald-console=${'a'.repeat(43)}` }],
    ['no Origin', 403, { Origin: '' }],
    ['the Origin of another site', 403, { Origin: 'http://evil.example' }],
    ['the Origin of another port', 403, { Origin: 'http://127.0.0.1:1' }],
    ['a hidden Origin', 403, { Origin: 'null' }],
    ['Sec-Fetch-Site of another site', 403, { 'Sec-Fetch-Site': 'cross-site' }],
    ['Sec-Fetch-Site of another port', 403, { 'Sec-Fetch-Site': 'same-site' }],
    ['a name that resolves to this host', 421, { Host: 'evil.example' }],
    ['the type of a form', 415, { 'Content-Type': 'application/x-www-form-urlencoded' }],
    ['the type of text, which a form of another site can send', 415, { 'Content-Type': 'text/plain' }],
    ['no type', 415, { 'Content-Type': '' }],
  ])('are refused and not read when they come with %s', async (_, status, changes) => {
    const headers = Object.fromEntries(Object.entries({ ...own(), ...changes }).filter(([, value]) => value !== ''));
    expect((await send(headers)).status).toBe(status);
    expect(given).toEqual([]);
  });

  test.each(['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])('are not taken by %s', async (method) => {
    const { status, headers } = await ask(consolePaths.plan, { method, headers: own() });
    expect([status, Object.keys(headers).filter((name) => name.startsWith('access-control'))]).toEqual([405, []]);
  });

  test('are read up to the limit, and refused beyond it with the limit and the fix', async () => {
    const longest = `#${'x'.repeat(limits.manifestBytes - 1)}`;
    expect((await send(own(), longest)).status).toBe(200);
    for (const headers of [own(), { ...own(), 'Transfer-Encoding': 'chunked' }]) {
      const { status, text } = await send(headers, `${longest}x`);
      expect([status, JSON.parse(text)]).toEqual([
        413,
        {
          error: `the manifests have more than ${limits.manifestBytes} octets`,
          fix: expect.stringContaining('herald plan -f FILE') as string,
        },
      ]);
    }
    expect(given).toHaveLength(1);
  });

  test('are refused when they are no text', async () => {
    const { status, text } = await send(own(), Uint8Array.of(0xff, 0xfe, 0x00));
    expect([status, JSON.parse(text)]).toEqual([400, { error: 'the manifests are no UTF-8 text', fix: 'save the file as UTF-8' }]);
  });

  test('that come while too many plans are computed get an answer that says so', async () => {
    const held = Array.from({ length: limits.plans }, () => request({ host: '127.0.0.1', port, path: consolePaths.plan, method: 'POST' }));
    for (const one of held) {
      one.on('error', () => undefined);
      for (const [name, value] of Object.entries(own())) one.setHeader(name, value);
      one.write('#');
    }
    await expect.poll(async () => (await send(own())).status).toBe(503);
    for (const one of held) one.destroy();
    await expect.poll(async () => (await send(own())).status).toBe(200);
  });

  test('that cannot be planned get the reason without its secrets', async () => {
    const failing: Facts = {
      ...facts,
      plan: () => Promise.reject(new Error('the API server refuses hunter2')),
      redact: (value) => (typeof value === 'string' ? value.replaceAll('hunter2', 'REMOVED') : value),
    };
    const stopping = new AbortController();
    const running = await startConsole(0, { facts: failing, files, clock: systemClock, stopped: stopping.signal });
    const url = new URL(running.address);
    port = Number(url.port);
    cookie = String((await ask(url.pathname + url.search, { headers: {} })).headers['set-cookie']).split(';')[0] ?? '';
    const { status, text } = await send(own());
    expect([status, JSON.parse(text)]).toEqual([
      503,
      { error: 'the API server refuses REMOVED', fix: 'plan again, or run herald plan -f FILE' },
    ]);
    stopping.abort('SIGINT');
    await running.ended;
  });
});

/** Sends raw text and returns everything received until the other side closes. */
function raw(text: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    let answer = '';
    socket.on('data', (data) => (answer += String(data)));
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(answer));
    socket.write(text);
  });
}

/** Follows changes on several connections, and returns the beginning of each answer. */
async function events(count: number): Promise<readonly string[]> {
  const sockets = Array.from({ length: count }, () => connect(port, '127.0.0.1'));
  try {
    return await Promise.all(
      sockets.map(
        (socket) =>
          new Promise<string>((resolve) => {
            let answer = '';
            socket.on('data', (data) => {
              answer += String(data);
              if (/\n\r?\n.*(?:data: |"fix")/s.test(answer)) resolve(answer);
            });
            socket.write(`GET /api/changes HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nCookie: ${cookie}\r\n\r\n`);
          }),
      ),
    );
  } finally {
    for (const socket of sockets) socket.destroy();
  }
}
