import { expect, test } from 'vitest';
import { livePaths } from '../../../src/live/contract.ts';
import { LiveApi } from '../../../src/live/live-api.ts';
import { LivePortHandler } from '../../../src/live/live-port.ts';
import { pageOf } from '../../../src/live/query.ts';
import { httpListening } from '../../../src/system/http/http-listener.ts';
import { limits } from '../../../src/system/http/limits.ts';
import { VirtualClock } from '../../../src/system/virtual-clock.ts';

const all = Array.from({ length: 1200 }, (_, i) => ({ peer: `p${1000 + i}` }));

function begunPort(): LivePortHandler {
  const live = new LiveApi(new VirtualClock(), { command: 'agent', version: '1.2.3' });
  live.addList(livePaths.sessions, { parameters: [], items: (query) => pageOf(all, ({ peer }) => peer, query) });
  return new LivePortHandler(live);
}

function begun() {
  const port = begunPort();
  return async (target: string) => {
    const [path = '', query] = target.split('?');
    const answer = await port.answer(path, new URLSearchParams(query));
    return { ...answer, content: JSON.parse(answer?.body ?? '{}') as { items?: unknown[]; next?: string; error?: string } };
  };
}

test('pages at the port are small whatever the limit, and together contain all items', async () => {
  const ask = begun();
  const found: unknown[] = [];
  const sizes: number[] = [];
  for (let after: string | undefined = ''; after !== undefined;) {
    const { content, sent } = await ask(`/live/v1/sessions?limit=5000${after}`);
    sent?.();
    sizes.push(content.items?.length ?? 0);
    found.push(...(content.items ?? []));
    after = content.next === undefined ? undefined : `&after=${content.next}`;
  }
  expect(sizes).toEqual([500, 500, 200]);
  expect(found).toEqual(all);
});

test('the port answers one list at a time, other clients get 429', async () => {
  const ask = begun();
  const first = await ask('/live/v1/sessions');
  expect(first.status).toBe(200);
  expect(await ask('/live/v1/sessions')).toMatchObject({
    status: 429,
    headers: { 'Retry-After': '1', Connection: 'close' },
    content: { error: expect.any(String) },
  });
  expect((await ask('/live')).status).toBe(200);
  first.sent?.();
  expect((await ask('/live/v1/sessions')).status).toBe(200);
});

test('an error or an unknown path is answered and blocks no other client once it was sent', async () => {
  const ask = begun();
  const wrong = await ask('/live/v1/sessions?limit=x');
  expect(wrong.status).toBe(400);
  wrong.sent?.();
  expect((await ask('/live/v1/nothing')).status).toBe(404);
});

test.each(['/live', '/live/v1/sessions', '/live/v1/nothing', '/live/v1/sessions?limit=x'])(
  'the connection ends with the answer to %s',
  async (target) => {
    const ask = begun();
    expect((await ask(target)).headers).toMatchObject({ Connection: 'close' });
  },
);

test('a client that reads one page after the other never gets 429', async () => {
  const port = begunPort();
  const bounds = { connections: 4, headerBytes: 2048, answerMilliseconds: 60_000, idleMilliseconds: 60_000 };
  const missing = { status: 404, headers: {}, body: '' };
  const listener = await httpListening(limits)(
    { address: '127.0.0.1', port: 0 },
    (path, query) => port.answer(path, query) ?? missing,
    bounds,
  );
  try {
    for (let n = 0; n < 10; n++) {
      const response = await fetch(`http://127.0.0.1:${listener.port}/live/v1/sessions?limit=5000`);
      expect(response.status).toBe(200);
      await response.text();
    }
  } finally {
    await listener.close();
  }
});
