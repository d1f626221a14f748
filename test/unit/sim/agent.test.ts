import { expect, test } from 'vitest';
import { Speaker } from '../../../src/bgp/index.ts';
import { DataplaneError } from '../../../src/dataplane/dataplane.ts';
import { decideAnnouncement } from '../../../src/decisions/announcement/decision.ts';
import { routesByPeer } from '../../../src/decisions/announcement/merge-routes.ts';
import { peersOfNode } from '../../../src/decisions/announcement/peers.ts';
import { frontendsOfAddress, hasBackends } from '../../../src/decisions/forwarding/scope.ts';
import { decideForwarding } from '../../../src/decisions/forwarding/plan.ts';
import type { HeraldObject } from '../../../src/model/store/snapshot.ts';
import { address, formatAddress } from '../../../src/net/address.ts';
import { frontendKey, type Frontend } from '../../../src/net/frontend.ts';
import { formatPrefix, prefix, prefixContains } from '../../../src/net/prefix.ts';
import { sleep } from '../../../src/system/clock.ts';
import { seededRandom } from '../../../src/system/random.ts';
import { attributesText, Routers } from '../agent/fakes/routers.ts';
import { testbed, type Testbed } from '../agent/testbed.ts';
import { advertisement, config, matching, node, peer, pool, service, slice } from '../decisions/fixtures.ts';
import { runs } from '../../support/property.ts';

const steps = runs(300);
const seeds = Array.from({ length: 20 }, (_, i) => i + 1);

const addresses = ['192.0.2.1', '192.0.2.2', '192.0.2.17', '192.0.2.18', '2001:db8:1::1', '2001:db8:1::11'];
const portSets = [['80'], ['443'], ['a:80', 'b:53/UDP'], ['a:80', 'b:443', 'c:53/UDP']];
const peerAddresses = { tor1: '10.0.0.254', tor2: '10.0.0.253', tor6: 'fd00::254' };
type PeerName = keyof typeof peerAddresses;

/** The random choices of one run. The same seed gives the same run. */
class Dice {
  readonly next: () => number;

  constructor(seed: number) {
    this.next = seededRandom(seed);
  }

  below(bound: number): number {
    return Math.floor(this.next() * bound);
  }

  chance(part: number): boolean {
    return this.next() < part;
  }

  of<T>(choices: readonly T[]): T {
    const choice = choices[this.below(choices.length)];
    if (choice === undefined) throw new RangeError('nothing to choose from');
    return choice;
  }
}

function randomService(dice: Dice, name: string): HeraldObject {
  const assigned = [...new Set(Array.from({ length: dice.below(3) }, () => dice.of(addresses)))];
  const ports = dice.of(portSets).map((port, i) => `${port}@${dice.chance(0.3) ? 30000 + 10 * Number(name.slice(1)) + i : 0}`);
  return service({
    name,
    assigned,
    ports,
    clusterIPs: [`10.96.0.${name.slice(1)}`, `fd96::${name.slice(1)}`],
    labels: { tier: dice.of(['a', 'b']) },
    externalTrafficPolicy: dice.of(['Cluster', 'Cluster', 'Local']),
    type: dice.chance(0.9) ? 'LoadBalancer' : 'ClusterIP',
  });
}

function randomSlice(dice: Dice, name: string): HeraldObject {
  const six = dice.chance(0.4);
  const endpoints = Array.from({ length: dice.below(3) }, () => {
    const number = dice.below(4) + 1;
    return `${six ? 'fd10::' : '10.1.0.'}${number}@n${dice.of([1, 2])}${dice.chance(0.2) ? ' notready' : ''}`;
  });
  const ports = ['80', '443', 'a:80', 'b:53/UDP', 'b:443', 'c:53/UDP'];
  return slice({ service: name, name: `${name}-${six ? 6 : 4}`, ports, endpoints, family: six ? 6 : 4 });
}

function randomAdvertisement(dice: Dice, name: string): HeraldObject {
  return advertisement({
    name,
    aggregationLength: name === 'aggregates' ? 28 : 32,
    aggregationLengthV6: name === 'aggregates' ? 124 : 128,
    asPathPrepend: dice.below(3),
    communities: dice.chance(0.5) ? [`64512:${dice.below(3)}`] : [],
    addressTypes: dice.chance(0.2) ? ['LoadBalancer', 'ClusterIP'] : ['LoadBalancer'],
    peers: dice.chance(0.3) ? [dice.of(['tor1', 'tor2', 'tor6'])] : [],
    serviceSelectors: dice.chance(0.3) ? [matching({ tier: dice.of(['a', 'b']) })] : [],
    nodeSelectors: dice.chance(0.2) ? [matching({ rack: 'a' })] : [],
    ...(dice.chance(0.5) ? { med: dice.below(2) } : {}),
  });
}

function randomPeer(dice: Dice, name: PeerName): HeraldObject {
  return peer({
    name,
    // Sometimes two peers get the same address; the agent refuses the one without a session.
    peerAddress: name === 'tor2' && dice.chance(0.2) ? peerAddresses.tor1 : peerAddresses[name],
    dualStackAddressFamily: name === 'tor6',
    holdTimeSeconds: dice.of([90, 90, 30]),
    keepaliveTimeSeconds: dice.of([30, 10]),
    adminDown: dice.chance(0.1),
    nodeSelectors: dice.chance(0.2) ? [matching({ rack: 'a' })] : [],
  });
}

const randomNode = (dice: Dice): HeraldObject =>
  node({
    name: 'n1',
    internalIPs: ['10.0.0.1', 'fd00::1'],
    labels: {
      rack: dice.of(['a', 'a', 'b']),
      ...(dice.chance(0.1) ? { 'node.kubernetes.io/exclude-from-external-load-balancers': '' } : {}),
    },
  });

class World {
  readonly dice: Dice;
  readonly bed: Testbed;
  readonly routers: Routers;
  #foreignSeen = false;

  constructor(seed: number) {
    this.dice = new Dice(seed);
    let routers: Routers | undefined;
    const objects = [
      randomNode(this.dice),
      pool({ name: 'main', addresses: ['192.0.2.0/24', '2001:db8:1::/120'] }),
      advertisement({ name: 'hosts' }),
      randomPeer(this.dice, 'tor1'),
      config({ drainSeconds: 3 }),
    ];
    this.bed = testbed(objects, {
      speaker: (clock) => {
        routers = new Routers(clock);
        return new Speaker({ clock, random: () => 0.5, transport: routers.transport });
      },
      deliver: () => routers?.exchange(),
      reportsComeBack: true,
    });
    if (routers === undefined) throw new Error('the agent has no speaker');
    this.routers = routers;
    const { dataplane, clock } = this.bed;
    dataplane.answer = () => (this.dice.chance(0.5) ? Promise.resolve() : sleep(clock, this.dice.below(100)));
  }

  change(): string {
    const { dice } = this;
    const { dataplane } = this.bed;
    const name = `s${dice.below(8) + 1}`;
    const kind = dice.below(100);
    if (kind < 30) return this.#put(randomService(dice, name));
    if (kind < 40) return this.#remove(service({ name }));
    if (kind < 58) return this.#put(randomSlice(dice, name));
    if (kind < 62) return this.#remove(randomSlice(dice, name));
    if (kind < 68) return this.#put(randomAdvertisement(dice, dice.of(['hosts', 'aggregates', 'more'])));
    if (kind < 71) return this.#remove(advertisement({ name: dice.of(['hosts', 'aggregates', 'more']) }));
    if (kind < 76) return this.#put(randomPeer(dice, dice.of(['tor1', 'tor2', 'tor6'])));
    if (kind < 78) return this.#remove(peer({ name: dice.of(['tor1', 'tor2', 'tor6']) }));
    if (kind < 80) return this.#put(randomNode(dice));
    if (kind < 82) {
      const services = dice.of(['all', 'all', 'external', 'none'] as const);
      return `${this.#put(config({ drainSeconds: dice.of([0, 3, 10]), services }))} ${services}`;
    }
    if (kind < 85) return this.#changeForeign();
    if (kind < 88) {
      const frontend = `${dice.of(addresses)} ${dice.of(['TCP 80', 'TCP 443', 'UDP 53'])}`;
      if (!dataplane.refused.delete(frontend)) dataplane.refused.add(frontend);
      return `refused or no longer: ${frontend}`;
    }
    if (kind < 92) {
      dataplane.failure = dataplane.failure === undefined ? new DataplaneError('failed', 'not today') : undefined;
      return `data plane fails: ${dataplane.failure !== undefined}`;
    }
    if (kind < 95) {
      dataplane.unreachableFailure = dataplane.unreachableFailure === undefined ? new DataplaneError('failed', 'no routes') : undefined;
      return `unreachable routes fail: ${dataplane.unreachableFailure !== undefined}`;
    }
    if (kind < 97 && this.routers.sessions.length > 0) {
      dice.of(this.routers.sessions).close();
      return 'a session is lost';
    }
    return 'nothing';
  }

  /** Changes which frontends another program forwards: some come and go, sometimes all go. */
  #changeForeign(): string {
    const { dice } = this;
    const { foreign } = this.bed;
    const frontend = `${dice.of([...addresses, ...Array.from({ length: 8 }, (_, i) => `10.96.0.${i + 1}`)])} ${dice.of(['TCP 80', 'TCP 443', 'UDP 53'])}`;
    if (dice.chance(0.05)) {
      foreign.vanish();
      return 'the other program has gone';
    }
    this.#foreignSeen = true;
    if (!foreign.view.seen || dice.chance(0.05)) {
      foreign.appear(...addresses.flatMap((address) => [`${address} TCP 80`, `${address} UDP 53`]));
      return 'the other program has come';
    }
    if (foreign.has(frontend)) foreign.remove(frontend);
    else foreign.add(frontend);
    return `the other program has, or has no more, ${frontend}`;
  }

  /** Returns routes to a node on which neither the kernel has Herald's frontend nor another program forwards, or may forward, it. */
  unbacked(): string[] {
    if (!this.#foreignSeen && this.bed.source.snapshot.config.services !== 'all') return [];
    const foreign = [...this.bed.foreign.frontends].map((key) => {
      const [at = '', protocol, port] = key.split(' ');
      return { kind: 'address' as const, address: address(at), protocol, port };
    });
    const committed = [...[...this.bed.dataplane.kernel.values()].map(({ frontend }) => frontend.match), ...foreign];
    return Object.values(peerAddresses).flatMap((at) =>
      [...(this.routers.table(at)?.keys() ?? [])]
        .filter((route) => !committed.some((match) => match.kind === 'address' && prefixContains(prefix(route), match.address)))
        .map((route) => `${route} at ${at}`),
    );
  }

  /** Ends all faults and lets time pass, without a change that would make the agent check everything. */
  async calm(): Promise<void> {
    const { dataplane, source, advance } = this.bed;
    dataplane.failure = undefined;
    dataplane.unreachableFailure = undefined;
    dataplane.refused.clear();
    for (let second = 0; second < 60; second++) await advance(1_000);
    // Any request makes the data plane retry what it refused.
    source.put(service({ name: 'last', clusterIPs: ['10.96.1.1'] }));
    for (let second = 0; second < 20; second++) await advance(1_000);
  }

  /** The actual state, and the state that the decisions give from scratch. */
  comparison(): { readonly actual: unknown; readonly expected: unknown } {
    const { source, dataplane, foreign } = this.bed;
    const forwarding = new Map<string, readonly Frontend[]>();
    const announcements = [...source.snapshot.services].map(([key, service]) => {
      const { forwarding: decided = { frontends: [] }, foreign: elsewhere } = decideForwarding(source.snapshot, service, 'n1');
      if (decided.frontends.length > 0) forwarding.set(key, decided.frontends);
      const { addresses } = decideAnnouncement(source.snapshot, service, 'n1');
      // The barrier: an address is not announced while another Service has a frontend of it.
      const owns = (frontend: string): boolean => dataplane.kernel.get(frontend)?.service === key;
      const passes = (frontends: readonly string[]): boolean => frontends.length > 0 && frontends.every(owns);
      const left = { frontends: elsewhere.filter(hasBackends) };
      const isElsewhere = (frontend: string): boolean => foreign.has(frontend) || !this.#foreignSeen;
      return {
        addresses: addresses.filter(
          ({ address }) => passes(frontendsOfAddress(decided, address)) || frontendsOfAddress(left, address).some(isElsewhere),
        ),
      };
    });
    const routes = routesByPeer(announcements);
    const sessions = peersOfNode(source.snapshot, 'n1').flatMap(({ peer, result }) => {
      if (!('session' in result) || result.session.adminDown) return [];
      const table = (routes.get(peer) ?? []).map((route) => [
        formatPrefix(route.prefix),
        attributesText(route.communities, route.med, route.asPathPrepend + 1),
      ]);
      return result.session.peerAddress === undefined ? [] : [[formatAddress(result.session.peerAddress), sorted(table)] as const];
    });
    const tables = Object.values(peerAddresses).flatMap((at) => {
      const table = this.routers.table(at);
      return table === undefined ? [] : [[at, sorted([...table])] as const];
    });
    const wantedKeys = [...forwarding.values()].flat().map(({ match }) => frontendKey(match));
    const aggregates = [...routes.values()].flat().filter(({ aggregate }) => aggregate);
    return {
      actual: {
        tables: sorted(tables),
        forwarding: sorted([...dataplane.desired].map(([key, { frontends }]) => [key, frontends])),
        kernel: [...dataplane.kernel.keys()].toSorted(),
        stale: [...dataplane.kernel]
          .filter(([, { service, frontend }]) => !forwarding.get(service)?.some((wanted) => same(wanted, frontend)))
          .map(([key]) => key),
        cleared: dataplane.cleared,
        unreachable: dataplane.unreachable.toSorted(),
        differing: [...new Set((this.bed.states.at(-1)?.differing ?? []).map(({ reason }) => reason.code))].filter(
          (code) => code === 'FrontendQuarantined' || code === 'DataPlaneFailed',
        ),
      },
      expected: {
        tables: sorted(sessions),
        forwarding: sorted([...forwarding]),
        kernel: [...new Set(wantedKeys)].toSorted(),
        stale: [],
        cleared: source.snapshot.config.services === 'none',
        unreachable: [...new Set(aggregates.map(({ prefix }) => formatPrefix(prefix)))].toSorted(),
        differing: [],
      },
    };
  }

  #put(object: HeraldObject): string {
    this.bed.source.put(object);
    return `put ${object.kind} ${object.metadata.name}`;
  }

  #remove(object: HeraldObject): string {
    this.bed.source.remove(object);
    return `remove ${object.kind} ${object.metadata.name}`;
  }
}

const text = (value: unknown): string => JSON.stringify(value, (_, part: unknown) => (typeof part === 'bigint' ? part.toString() : part));
const same = (a: unknown, b: unknown): boolean => text(a) === text(b);
const sorted = (entries: readonly unknown[]): string[] => entries.map(text).toSorted();

test.each(seeds)('routes follow the kernel under any faults, and finally all is as decided (seed %i)', async (seed) => {
  const world = new World(seed);
  const { agent, advance, clock } = world.bed;
  const history: string[] = [];
  void agent.start();
  for (let step = 0; step < steps; step++) {
    for (let i = world.dice.below(3); i >= 0; i--) history.push(`${step}: ${world.change()}`);
    await advance(world.dice.of([0, 0, 1, 20, 60, 500, 3_000]));
    expect(world.unbacked(), `seed ${seed}, step ${step}; lately: ${history.slice(-12).join('; ')}`).toEqual([]);
  }
  await world.calm();
  const { actual, expected } = world.comparison();
  expect(actual, `seed ${seed}`).toEqual(expected);
  const stopped = agent.stop('the run is over');
  for (let second = 0; second < 3; second++) await advance(1_000);
  await stopped;
  expect(clock.pending, `seed ${seed}: timers that are left`).toBe(0);
});
