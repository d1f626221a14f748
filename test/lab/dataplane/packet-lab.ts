import { defined } from '../../../src/lang/defined.ts';
import { NftablesDataplane } from '../../../src/dataplane/nftables/nftables.ts';
import { machinePorts } from '../../../src/dataplane/nftables/ports.ts';
import { namespaceNamed } from '../../support/namespace-named.ts';
import { address, type Family } from '../../../src/net/address.ts';
import type { NodeForwarding, Protocol, ServiceForwarding } from '../../../src/net/frontend.ts';
import { systemClock } from '../../../src/system/clock.ts';
import { silentLog } from '../../../src/system/log.ts';
import {
  backendName,
  interfaceOf,
  placeAddress,
  play,
  type PacketRow,
  type Place,
  type Played,
  type Scenario,
} from '../../vectors/scenario.ts';
import { fateText, trace } from '../../vectors/tracer.ts';
import { shortTimeout, inside, machines, namespaceOf, OneNode, type Machine, type Outcome, type Request } from './one-node.ts';

const families: readonly Family[] = [4, 6];

interface FamilyRow {
  readonly family: Family;
  readonly row: PacketRow;
}

/** One node with the kernel's forwarding. Sends the packets of scenarios through it. */
export class PacketLab {
  readonly #lab: OneNode;
  readonly #dataplane: NftablesDataplane;
  #present: readonly string[] = [];

  private constructor(lab: OneNode, dataplane: NftablesDataplane) {
    this.#lab = lab;
    this.#dataplane = dataplane;
  }

  static async start(): Promise<PacketLab> {
    const lab = await OneNode.start();
    const dataplane = new NftablesDataplane(
      machinePorts(systemClock, silentLog, { own: false, namespace: namespaceNamed(namespaceOf('node')) }),
    );
    const nothing: NodeForwarding = { nodePortAddresses: [], podPrefixes: [], servicePrefixes: [], masqueradeBit: 14 };
    await dataplane.replace(nothing, new Map());
    return new PacketLab(lab, dataplane);
  }

  async stop(): Promise<void> {
    await this.#dataplane.close();
    this.#lab.stop();
  }

  /** Sends the packets of a scenario. Returns a line for each whose fate is not the one the scenario states. */
  async surprises(scenario: Scenario, protocol: Protocol): Promise<string[]> {
    const played = families.map((family) => ({ family, ...play(scenario, family, protocol) }));
    await this.#program(played);
    return this.#send(played.flatMap(({ family, packets }) => packets.map((row) => ({ family, row }))));
  }

  /** Sends the packets of a scenario. Returns a line for each whose fate is not the one the packet tracer predicts. */
  async differences(scenario: Scenario, protocol: Protocol): Promise<string[]> {
    const played = families.map((family) => ({ family, ...play(scenario, family, protocol) }));
    await this.#program(played);
    return this.#send(
      played.flatMap((each) =>
        each.packets.map((row) => ({ family: each.family, row: { ...row, fate: tracedFate(each, each.family, row) } })),
      ),
    );
  }

  /** Programs both families of a scenario on one node, in place of the previous scenario. */
  async #program(played: readonly (Played & { readonly family: Family })[]): Promise<void> {
    const services = new Map<string, ServiceForwarding | undefined>(this.#present.map((key) => [key, undefined]));
    for (const { family, services: own } of played) for (const [key, forwarding] of own) services.set(`${key} IPv${family}`, forwarding);
    this.#present = [...services].flatMap(([key, forwarding]) => (forwarding === undefined ? [] : [key]));
    const { podInterfaces, masqueradeAll = false } = played[0]?.forwarding ?? {};
    const { quarantined } = await this.#dataplane.apply(services);
    if (quarantined.size > 0) throw new Error([...quarantined.keys()].join());
    await this.#dataplane.setNode({
      nodePortAddresses: played.flatMap(({ forwarding }) => forwarding.nodePortAddresses),
      podPrefixes: played.flatMap(({ forwarding }) => forwarding.podPrefixes),
      servicePrefixes: played.flatMap(({ forwarding }) => forwarding.servicePrefixes),
      masqueradeBit: 14,
      masqueradeAll,
      ...defined({ podInterfaces }),
    });
    // The previous scenario's flows would still apply to a client port that is used again.
    inside('node', 'conntrack -F');
  }

  async #send(rows: readonly FamilyRow[]): Promise<string[]> {
    const byMachine = Map.groupBy(rows, ({ row }) => machineOf(row.from));
    const loopback = families.map((family) => `${placeAddress('external1', family)} dev lo`);
    const asVip = rows.some(({ row }) => row.from === 'external1');
    if (asVip) inside('node', ...loopback.map((text) => `ip addr add ${text}`));
    const surprises = await Promise.all(
      [...byMachine].map(async ([machine, own]) => {
        const outcomes = await this.#lab.requests(machine, own.map(requestOf));
        return own.flatMap(({ family, row }, index): string[] => {
          const outcome = outcomes[index];
          const fate = outcome === undefined ? 'not tried' : fateOf(row.from, family, outcome);
          return isExpectedFate(row, fate)
            ? []
            : [`IPv${family} ${row.from} -> ${row.to} ${row.port} ${row.protocol}: ${fate}, not ${row.fate}`];
        });
      }),
    );
    if (asVip) inside('node', ...loopback.map((text) => `ip addr del ${text}`));
    return surprises.flat().toSorted();
  }
}

function tracedFate(played: Played, family: Family, { from, to, port, protocol }: PacketRow): string {
  const [source, destination] = [placeAddress(from, family), placeAddress(to, family)].map(address);
  if (source === undefined || destination === undefined) throw new RangeError(`${from} -> ${to}`);
  return fateText(trace(played, { source, interface: interfaceOf(from), protocol, destination, port }), backendName);
}

function requestOf({ family, row }: FamilyRow): Request {
  const backends = row.fate.split(' ').length;
  const [address, localAddress] = [placeAddress(row.to, family), placeAddress(row.from, family)];
  const base = { protocol: row.protocol, address, port: row.port, localAddress };
  if (['dropped', 'untouched'].includes(row.fate)) return { ...base, count: 1, timeout: shortTimeout };
  // One pod of three is missed by chance once in four million times.
  return { ...base, count: row.fate === 'refused' ? 5 : backends === 1 ? 6 : 40 };
}

/** Formats a fate as "pod1* pod3": the answering pods, with a star if a pod did not see the client's own address. Otherwise the error. */
function fateOf(from: Place, family: Family, { answers }: Outcome): string {
  const fates = answers.map((answer) => {
    const [who = '', client] = answer.split(' ');
    if (client === undefined) return { TIMEOUT: 'dropped', ECONNREFUSED: 'refused' }[who] ?? who;
    return `${who}${client === placeAddress(from, family) ? '' : '*'}`;
  });
  return [...new Set(fates)].toSorted().join(' ');
}

/** Returns true if the packet met the expected fate. An untouched packet may end in many ways, but at no pod other than its destination. */
function isExpectedFate({ from, to, fate }: PacketRow, seen: string): boolean {
  if (fate === 'untouched') return seen === to || !seen.includes('pod');
  if (machineOf(from) !== 'node') return seen === fate;
  // For a local sender the kernel reports EPERM both for a refused and for a dropped datagram.
  if (seen === 'EPERM') return fate === 'refused' || fate === 'dropped';
  // Any address of the node may stand for the node.
  return seen.replaceAll('*', '') === fate.replaceAll('*', '');
}

/** Returns the machine that sends from this place. The node takes a load balancer's address if a scenario needs it. */
function machineOf(place: Place): Machine {
  if (place === 'blocked') return 'client';
  return machines.find((machine) => machine === place) ?? 'node';
}
