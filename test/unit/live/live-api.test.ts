import { describe, expect, test } from 'vitest';
import { livePaths } from '../../../src/live/contract.ts';
import { LiveApi } from '../../../src/live/live-api.ts';
import { pageOf } from '../../../src/live/query.ts';
import { VirtualClock } from '../../../src/system/virtual-clock.ts';

const names = Array.from({ length: 2500 }, (_, i) => ({ peer: `p${1000 + i}` }));

function asked() {
  const live = new LiveApi(new VirtualClock(), { command: 'agent', version: '1.2.3' });
  live.setProcess({ node: 'node1' });
  live.addList(livePaths.sessions, {
    parameters: ['family'],
    items: (query) => {
      query.oneOf('family', ['IPv4', 'IPv6']);
      return pageOf(names, ({ peer }) => peer, query);
    },
  });
  const get = async (target: string): Promise<{ status: number; content: Record<string, unknown> }> => {
    const [path = '', query] = target.split('?');
    const answer = await live.answer(path, new URLSearchParams(query));
    return { status: answer?.status ?? 0, content: JSON.parse(answer?.body ?? '{}') as Record<string, unknown> };
  };
  return { live, get };
}

describe('the live API of a process', () => {
  test('the index identifies the process and lists its paths', async () => {
    const { get } = asked();
    expect(await get('/live')).toMatchObject({
      status: 200,
      content: {
        process: { command: 'agent', version: '1.2.3', node: 'node1', started: expect.stringMatching(/Z$/) },
        paths: ['/live/v1/sessions'],
      },
    });
  });

  test('the pages of a list together contain all items', async () => {
    const { get } = asked();
    const all: unknown[] = [];
    let after = '';
    for (let pages = 0; pages < 3; pages++) {
      const { content } = await get(`/live/v1/sessions?limit=1000${after}`);
      all.push(...(content['items'] as unknown[]));
      after = `&after=${String(content['next'])}`;
      expect(content['next'] === undefined).toBe(pages === 2);
    }
    expect(all).toEqual(names);
  });

  test.each([
    ['?limit=0', 'limit'],
    ['?limit=5001', 'limit'],
    ['?limit=x', 'limit'],
    ['?family=IPv5', 'family is "IPv5"'],
    ['?colour=red', 'no parameter "colour"'],
  ])('a request with %s is refused with its fix', async (query, error) => {
    const { status, content } = await asked().get(`/live/v1/sessions${query}`);
    expect(status).toBe(400);
    expect(content).toMatchObject({ error: expect.stringContaining(error), fix: expect.stringMatching(/./) });
  });

  test('a list that this process does not have is 404; other paths are not answered', async () => {
    const { live, get } = asked();
    expect(await get('/live/v1/routes')).toMatchObject({ status: 404, content: { error: 'this agent has no list /live/v1/routes' } });
    expect((await get('/live/v2/sessions')).status).toBe(404);
    expect(live.answer('/metrics', new URLSearchParams())).toBeUndefined();
    expect(live.answer('/livez', new URLSearchParams())).toBeUndefined();
  });
});
