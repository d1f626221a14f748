import { expect, test } from 'vitest';
import { ClientWays } from '../../../../src/agent/checks/client-ways.ts';
import type { ReadWays } from '../../../../src/agent/checks/endpoint-ways.ts';
import { limits } from '../../../../src/agent/limits.ts';
import { address } from '../../../../src/net/address.ts';
import type { AnswerQuestion, AnswerWay, Neighbor } from '../../../../src/net/endpoint-way.ts';
import { prefix } from '../../../../src/net/prefix.ts';
import { silentLog } from '../../../../src/system/log.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';

const question: AnswerQuestion = { client: address('10.9.0.66'), endpoint: address('10.1.0.1') };

const leads = (network: string, name: string, gateway?: string): AnswerWay => ({
  route: {
    prefix: prefix(network),
    interface: name,
    hop: { index: 7, address: address(gateway ?? '10.9.0.66'), isGateway: gateway !== undefined },
  },
});

const neighbor = (state: Neighbor['state']): Neighbor => ({ index: 7, interface: 'docker0', address: question.client, state, age: 0 });

function bed(way: AnswerWay, neighbors: readonly Neighbor[] = [], uplinks = ['eth0']) {
  const clock = new VirtualClock();
  const host = { way, neighbors, uplinks, questions: [question], asked: 0, isBroken: false };
  const ways: ReadWays = {
    answers: async (questions) => {
      host.asked += questions.length;
      if (host.isBroken) throw new Error('no answer');
      return questions.map(() => host.way);
    },
    routes: async () => [],
    neighbors: async () => host.neighbors,
    interfaces: async () => new Map(),
    follow: () => () => undefined,
  };
  const clients = new ClientWays(
    { ways, clock, log: silentLog },
    { questions: () => host.questions, uplinks: async () => host.uplinks, onChanged: () => undefined },
  );
  const pass = async (milliseconds: number): Promise<void> => {
    for (let passed = 0; passed <= milliseconds; passed += 1_000) {
      for (let turns = 0; turns < 20; turns++) await Promise.resolve();
      clock.advance(1_000);
    }
    for (let turns = 0; turns < 20; turns++) await Promise.resolve();
  };
  const found = async (): Promise<unknown> => {
    clients.clientsChanged();
    await pass(limits.answerWayMilliseconds);
    return clients.lost.get('10.9.0.66 10.1.0.1');
  };
  return { clients, host, pass, found };
}

const vpn = { preference: 32_765, text: '32765 (not from all fwmark 0xca6c lookup 51820)', table: 51_820 } as const;

/** A way by the tunnel of a VPN, to whose table a rule leads. */
const byTunnel = (name: string): AnswerWay => {
  const { route } = leads('0.0.0.0/0', name);
  return route === undefined ? {} : { route: { ...route, isTunnel: true, rule: vpn } };
};

const elsewhere = { kind: 'elsewhere', clients: '10.9.0.0/24', interface: 'docker0', uplinks: ['eth0'] };

test.each([
  ['no route', { problem: 'no route' }, [], { kind: 'unroutable', route: 'no route' }],
  ['nothing certain', {}, [], undefined],
  ['the default route by another interface', leads('0.0.0.0/0', 'eth9', '10.0.0.1'), [], undefined],
  ['a route by an interface of clients', leads('10.9.0.0/24', 'eth0'), [neighbor('failed')], undefined],
  ['a link on which nobody answers', leads('10.9.0.0/24', 'docker0'), [neighbor('failed')], elsewhere],
  ['a link on which nobody has answered yet', leads('10.9.0.0/24', 'docker0'), [neighbor('asking')], elsewhere],
  ['a link on which the client answers', leads('10.9.0.0/24', 'docker0'), [neighbor('known')], undefined],
  ['a link of which the kernel has not asked', leads('10.9.0.0/24', 'docker0'), [], undefined],
  [
    'a rule',
    { problem: 'rule 100 (from all prohibit)', remedy: 'ip rule del pref 100' },
    [],
    { kind: 'unroutable', route: 'rule 100 (from all prohibit)', remedy: 'ip rule del pref 100' },
  ],
  [
    'the default route of a tunnel to which a rule leads',
    byTunnel('wg0'),
    [],
    { ...elsewhere, clients: '0.0.0.0/0', interface: 'wg0', rule: vpn },
  ],
  ['the same by which clients come', byTunnel('eth0'), [], undefined],
  ['a gateway behind another interface', leads('10.9.0.0/24', 'docker0', '10.0.9.1'), [], elsewhere],
  [
    'a gateway of the default route that nobody answers for',
    leads('0.0.0.0/0', 'eth0', '10.0.0.1'),
    [{ ...neighbor('failed'), address: address('10.0.0.1') }],
    { kind: 'unroutable', route: 'nobody on eth0 answers for the gateway 10.0.0.1' },
  ],
  [
    'a gateway of the default route whose entry is wrong',
    leads('0.0.0.0/0', 'eth0', '10.0.0.1'),
    [{ ...neighbor('known'), address: address('10.0.0.1'), wrong: { why: 'nobody has it', remedy: 'ip neigh del' } }],
    { kind: 'unroutable', route: 'nobody has it', remedy: 'ip neigh del' },
  ],
] as const)('%s decides whether answers reach a client', async (_, way, neighbors, expected) => {
  expect(await bed(way, neighbors).found()).toEqual(expected);
});

test('a gateway behind some interface shows nothing while it is not known by which ones clients come', async () => {
  expect(await bed(leads('10.9.0.0/24', 'eth1', '10.0.9.1'), [], []).found()).toBeUndefined();
  const { found } = bed(leads('10.9.0.0/24', 'docker0'), [neighbor('failed')], []);
  expect(await found()).toEqual({ ...elsewhere, uplinks: [] });
});

test('a link on which nobody answered is remembered when the kernel forgets it, and not when the machine answers', async () => {
  const { host, found } = bed(leads('10.9.0.0/24', 'docker0'), [neighbor('failed')]);
  await found();
  host.neighbors = [];
  expect(await found()).toEqual(elsewhere);
  host.neighbors = [neighbor('known')];
  expect(await found()).toBeUndefined();
});

test('a repair of the route shows within seconds, without another connection', async () => {
  const { clients, host, pass, found } = bed({ problem: 'no route' });
  expect(await found()).toBeDefined();
  host.way = {};
  await pass(limits.answerWayMilliseconds);
  expect(clients.lost.size).toBe(0);
});

test('nothing is asked when all clients go on, at most 32 clients every 3 s else, and an error changes nothing', async () => {
  const { clients, host, pass, found } = bed({ problem: 'no route' });
  expect(await found()).toBeDefined();
  host.isBroken = true;
  await pass(10_000);
  expect(clients.lost.size).toBe(1);
  host.isBroken = false;
  host.questions = Array.from({ length: 100 }, (_, at) => ({ ...question, client: address(`10.9.1.${at}`) }));
  host.asked = 0;
  await pass(29_000);
  expect(host.asked).toBeGreaterThanOrEqual(9 * limits.askedClients);
  expect(host.asked).toBeLessThanOrEqual(11 * limits.askedClients);
  host.questions = [];
  await pass(limits.answerWayMilliseconds);
  host.asked = 0;
  clients.clientsChanged();
  await pass(60_000);
  expect([host.asked, clients.lost.size]).toEqual([0, 0]);
  clients.stop();
});
