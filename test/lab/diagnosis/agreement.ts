import { expect } from 'vitest';
import type { AddressExplanation, NodeExplanation } from '../../../src/explain/service/service-node.ts';
import type { ClientReachability } from '../../../src/decisions/verdict/client-reachability.ts';
import type { Report } from '../outcome.ts';
import type { Explained } from './faces.ts';
import type { Facts } from './facts.ts';
import type { Scene } from './misconfiguration.ts';

/** Compares every sentence of an explanation about clients, routers and kernels with what these show. */
export async function expectTrue({ lab }: Scene, facts: Facts, explanation: Explained): Promise<void> {
  for (const client of explanation.clients ?? []) await expectClient(lab, client);
  for (const node of explanation.nodes) expectRules(facts, node, explanation.status ?? []);
  for (const router of ['tor1', 'tor2'] as const) {
    for (const address of explanation.status ?? []) {
      const told = explanation.nodes.filter((node) => announcesTo(node, router, address)).map(({ node }) => node);
      expect(await facts.nextHops(router, address), `nodes that ${router} has for ${address}`).toEqual(told);
    }
  }
}

/** Sends requests from the client. UDP has no refusal, so a Service with UDP ports is not refused in these cases. */
async function expectClient(lab: Scene['lab'], { target, outcome }: ClientReachability): Promise<void> {
  const [, address = '', port = '', protocol = ''] = /^\[?([^\]]*?)\]?:(\d+)\/(\w+)$/.exec(target) ?? [];
  const send = protocol === 'UDP' ? lab.client.udp.bind(lab.client) : lab.client.tcp.bind(lab.client);
  const isSound = outcome === 'answered' || outcome === 'announced';
  const report: Report = await send({
    address,
    port: Number(port),
    count: outcome === 'partly' ? 12 : 6,
    timeoutMs: isSound ? 10_000 : 1500,
  });
  const answered = Object.values(report.pods).reduce((sum, count) => sum + count, 0);
  if (outcome === 'partly')
    expect([answered > 0, answered < 12], `answers from ${target}, of which some time out: ${answered} of 12`).toEqual([true, true]);
  else if (isSound) expect(report.errors, `errors of requests to ${target}, which is said to be ${outcome}`).toEqual({});
  else expect(answered, `answers from ${target}, which is said to be ${outcome}`).toBe(0);
}

/** A node whose agent does not run keeps the rules that it had. */
function expectRules(facts: Facts, { node, problem, frontends, forwarding }: NodeExplanation, addresses: readonly string[]): void {
  if (problem !== undefined || forwarding.length > 0 || !/^node\d$/.test(node)) return;
  for (const address of addresses) expect(facts.hasRules(node, address), `rules of ${node} for ${address}`).toBe(frontends > 0);
}

function announcesTo({ addresses, sessions = [] }: NodeExplanation, router: string, wanted: string): boolean {
  const to = (address: AddressExplanation): boolean =>
    address.address === wanted &&
    address.peers.some(({ peer, prefixes, reason }) => prefixes.length > 0 && reason === undefined && peerIsAt(peer, router));
  return sessions.length > 0 && addresses.some(to);
}

/** Sessions other than those of the fabric are with tor1. */
function peerIsAt(peer: string, router: string): boolean {
  return /^tor\d-/.test(peer) ? peer.startsWith(router) : router === 'tor1';
}
