import { describe, expect, test } from 'vitest';
import type { Health } from '../../../src/console/contract.ts';
import { endHealths } from '../../../src/console/views/fabric-health.ts';

/** A row for each node, a column for each router t1, t2. */
type Table = readonly (readonly Health[])[];

const [up, down, warned, off, silent] = ['good', 'bad', 'doubtful', 'off', 'unknown'] as const;

describe('the colours of routers and nodes', () => {
  test.each<[string, { sessions: Table; nodes: readonly Health[]; peers: readonly Health[] }]>([
    [
      'all sessions are up',
      {
        sessions: [
          [up, up],
          [up, up],
        ],
        nodes: [up, up],
        peers: [up, up],
      },
    ],
    [
      'a node is cut off',
      {
        sessions: [
          [up, up],
          [up, up],
          [down, down],
        ],
        nodes: [up, up, down],
        peers: [up, up],
      },
    ],
    [
      'a router is gone',
      {
        sessions: [
          [up, down],
          [up, down],
        ],
        nodes: [up, up],
        peers: [up, down],
      },
    ],
    [
      'a router is gone and a node is cut off',
      {
        sessions: [
          [up, down],
          [down, down],
        ],
        nodes: [up, down],
        peers: [up, down],
      },
    ],
    [
      'everything is down',
      {
        sessions: [
          [down, down],
          [down, down],
        ],
        nodes: [down, down],
        peers: [down, down],
      },
    ],
    [
      'one session is down between ends that are connected',
      {
        sessions: [
          [up, down],
          [up, up],
        ],
        nodes: [warned, up],
        peers: [up, warned],
      },
    ],
    [
      'one session lacks its BFD',
      {
        sessions: [
          [up, warned],
          [up, up],
        ],
        nodes: [warned, up],
        peers: [up, warned],
      },
    ],
    [
      'a node is silent',
      {
        sessions: [
          [up, up],
          [silent, silent],
        ],
        nodes: [up, silent],
        peers: [up, up],
      },
    ],
    [
      'a router has only silent nodes and one without it',
      {
        sessions: [
          [up, down],
          [silent, silent],
        ],
        nodes: [up, silent],
        peers: [up, down],
      },
    ],
    [
      'a router is shut down on purpose',
      {
        sessions: [
          [up, off],
          [up, off],
        ],
        nodes: [up, up],
        peers: [up, off],
      },
    ],
    [
      'a node has one session off and the other down',
      {
        sessions: [
          [off, down],
          [off, up],
        ],
        nodes: [down, up],
        peers: [off, up],
      },
    ],
  ])('%s', (_, { sessions, nodes, peers }) => {
    const lines = sessions.flatMap((row, node) => row.map((health, peer) => ({ node: `n${node + 1}`, peer: `t${peer + 1}`, health })));
    const healths = endHealths(lines);
    expect([...healths.nodes]).toEqual(nodes.map((health, index) => [`n${index + 1}`, health]));
    expect([...healths.peers]).toEqual(peers.map((health, index) => [`t${index + 1}`, health]));
  });
});
