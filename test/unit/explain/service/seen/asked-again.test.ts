import { expect, test } from 'vitest';
import { sinceAskedAgain } from '../../../../../src/explain/service/seen/asked-again.ts';
import type { NodeState } from '../../../../../src/model/objects/node-state.ts';
import { reason } from '../../../../../src/model/reasons.ts';

const now = 1_800_000_000_000;
const ago = (seconds: number): string => new Date(now - seconds * 1000).toISOString();

/** `asked`: by peer, the seconds since the request for IPv4. Undefined: there was none. */
function since(asked: Readonly<Record<string, number | undefined>>, more: { readonly onLink?: boolean; readonly down?: string } = {}) {
  const sessions = Object.entries(asked).map(([peer, seconds]) => ({
    peer,
    families: [{ family: 'IPv4', sent: 1, received: 0, ...(seconds === undefined ? {} : { refreshRequested: ago(seconds) }) }],
  }));
  const peers = Object.keys(asked).map((peer) => ({
    peer,
    prefixes: ['192.0.2.1/32'],
    ...(peer === more.down ? { reason: reason('NotSent', { node: 'n1', peer }) } : {}),
  }));
  const l2 = more.onLink === true ? { l2: { links: ['eth0'] } } : {};
  const addresses = [{ address: '192.0.2.1', type: 'LoadBalancer', peers, refused: [], ...l2 }];
  const nodes = [{ node: 'n1', addresses }] as unknown as Parameters<typeof sinceAskedAgain>[1];
  return sinceAskedAgain(new Map([['n1', { sessions } as unknown as NodeState]]), nodes, now);
}

test.each([
  [{ tor1: 20 }, {}, 'since tor1 asked for all routes again 20 s ago: its policy may have changed'],
  [{ tor1: 300, tor2: 20 }, {}, 'since tor1 and tor2 asked for all routes again 20 s ago: their policy may have changed'],
  [{ tor1: 20, tor2: undefined }, { down: 'tor2' }, 'since tor1 asked for all routes again 20 s ago: its policy may have changed'],
  [{ tor1: 20, tor2: undefined }, {}, undefined],
  [{ tor1: 20, tor2: 601 }, {}, undefined],
  [{ tor1: 20 }, { onLink: true }, undefined],
  [{}, {}, undefined],
] as const)('requests %o of the routers that have the address (%o) give the sentence %o', (asked, more, sentence) => {
  expect(since(asked, more)).toBe(sentence);
});
