import { describe, expect, test } from 'vitest';
import { clientReachability } from '../../../../src/decisions/verdict/client-reachability.ts';
import type { NodeView } from '../../../../src/decisions/verdict/node-view.ts';
import { decideVerdict } from '../../../../src/decisions/verdict/decide-verdict.ts';
import { reason } from '../../../../src/model/reasons.ts';
import { service } from '../fixtures.ts';

const nat = reason('ForeignNat', {
  chain: 'pre of table ip other',
  hook: 'prerouting',
  priority: -150,
  rule: 'tcp dport 80 dnat',
  frontend: '192.0.2.1 TCP 80',
});

const web = service({ name: 'shop/web', assigned: ['192.0.2.1'] });

const view = (node: string, isForeign: boolean): NodeView => ({
  node,
  frontends: 1,
  elsewhere: 0,
  forwarding: isForeign ? [nat] : [],
  addresses: [{ address: '192.0.2.1', type: 'LoadBalancer', peers: [{ peer: 'tor1', prefixes: ['192.0.2.1/32'] }], refused: [] }],
});

const seen = { answered: () => true, unseen: () => undefined };

function verdictOf(nodes: readonly NodeView[]): {
  readonly outcome: string;
  readonly code: string | undefined;
  readonly clients: string[];
} {
  const clients = clientReachability(web, nodes, true, seen);
  const { outcome, code } = decideVerdict({ service: web, nodes, clients, seen, placeOf: () => undefined });
  return { outcome, code, clients: clients.map((client) => client.outcome) };
}

describe("another program's NAT", () => {
  test('makes it unknown whether clients are answered when it is on every node that announces', () => {
    expect(verdictOf([view('n1', true), view('n2', true)])).toEqual({ outcome: 'unknown', code: 'ForeignNat', clients: ['intercepted'] });
  });

  test('is a loss of one node when another node announces without it', () => {
    expect(verdictOf([view('n1', true), view('n2', false)])).toEqual({ outcome: 'served', code: 'ForeignNat', clients: ['answered'] });
  });
});
