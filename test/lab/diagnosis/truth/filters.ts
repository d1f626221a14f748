import { poolAddresses, type Place } from '../place.ts';
import type { Scene } from '../misconfiguration.ts';
import { aliasAt, withAlias, type TruthCase } from './truth-case.ts';

/**
 * Filters of nodes that the agents follow without any connection: node1 and node2 announce the addresses, and the endpoint of each case is on
 * node3.
 */
export const filterTruths: readonly TruthCase[] = [
  filtered(60, {
    name: 'prerouting-drops',
    mistake: 'Chains of two nodes drop the port of the Service before Herald translates it.',
    hook: 'prerouting',
    priority: -150,
    rules: (place) => ofService(place, 'tcp dport 80 drop'),
    targets: (place) => poolAddresses(place, 1).map((address) => targetOf(address, 80)),
    when: ' before Herald translates them',
    fix: (place) => inserts(place, ofService(place, 'tcp dport 80 accept').slice(0, 1)),
  }),
  filtered(61, {
    name: 'prerouting-after-translation',
    mistake: 'Chains of two nodes drop the address of the endpoint after Herald has translated to it.',
    isFull: true,
    hook: 'prerouting',
    priority: -50,
    rules: (place) => ofEndpoint(place, 'tcp dport 8080 reject'),
    effect: 'rejects',
    targets: endpointsOf,
    fix: (place) => inserts(place, ofEndpoint(place, 'tcp dport 8080 accept').slice(0, 1)),
  }),
  filtered(62, {
    name: 'forward-accepts-service-port',
    mistake: 'Chains of two nodes accept the port of the Service, not that of its endpoints.',
    hook: 'forward',
    priority: 5,
    rules: (place) => ['ct state established accept', ...ofEndpoint(place, 'tcp dport { 80, 443 } accept'), ...ofEndpoint(place, 'drop')],
    firstRule: 4,
    targets: endpointsOf,
    fix: (place) => inserts(place, ['ct status dnat accept']),
  }),
  filtered(63, {
    name: 'ingress-drops',
    mistake: 'Chains of the uplinks of two nodes drop the port of the Service before any other chain sees it.',
    family: 'netdev',
    hook: 'ingress',
    priority: 0,
    rules: (place) => ofService(place, 'tcp dport 80 drop'),
    targets: (place) => poolAddresses(place, 1).map((address) => targetOf(address, 80)),
    when: ' before Herald translates them',
    fix: (place) => inserts(place, ofService(place, 'tcp dport 80 accept').slice(0, 1), 'netdev'),
  }),
  filtered(64, {
    name: 'limit-on-connections',
    mistake: 'Chains of two nodes drop new connections beyond a rate, which these clients do not reach.',
    lead: 'Announced, but not without a limit',
    code: 'ServiceLimited',
    hook: 'forward',
    priority: 5,
    rules: (place) => ofEndpoint(place, 'tcp dport 8080 ct state new limit rate over 500/second drop'),
    effect: 'drops a share of',
    why: 'only 500 packets a second pass, ',
    targets: endpointsOf,
    fix: (place) => inserts(place, ['ct status dnat accept']),
    before: 'If clients need more, raise the limit of this rule, or run',
  }),
];

interface FilterCase {
  readonly name: string;
  readonly mistake: string;
  readonly isFull?: true;
  /** By default inet. A chain of netdev is on both uplinks. */
  readonly family?: 'netdev';
  readonly hook: 'ingress' | 'prerouting' | 'forward';
  readonly priority: number;
  readonly rules: (place: Place) => readonly string[];
  /** The number of the rule that drops IPv4. The next one drops IPv6. */
  readonly firstRule?: number;
  readonly effect?: 'rejects' | 'drops a share of';
  /** By default the Service is not served. */
  readonly lead?: string;
  readonly code?: 'ServiceLimited';
  readonly why?: string;
  /** The words before the command. */
  readonly before?: string;
  readonly targets: (place: Place) => readonly string[];
  readonly when?: string;
  readonly fix: (place: Place) => string;
}

function filtered(index: number, one: FilterCase): TruthCase {
  const place: Place = { name: one.name, index, ranges: ['', ''] };
  const {
    hook,
    priority,
    firstRule = 1,
    effect = 'drops',
    when = '',
    family = 'inet',
    why = '',
    lead = 'Not served',
    before = 'Run',
  } = one;
  const table = `${family} case${index}`;
  const at = family === 'netdev' ? `${hook} devices = { tor1, tor2 }` : hook;
  const rules = one.rules(place);
  const causes = one.targets(place).map((target, position) => {
    const number = firstRule + position;
    return `chain c of table ${table} (hook ${hook}) ${effect} connections to ${target} (TCP)${when}: ${why}by rule ${number} (${rules[number - 1]}) (on node1 and node2)`;
  });
  const onBoth = (scene: Scene, command: string): Promise<unknown> =>
    Promise.all(['node1', 'node2'].map((node) => scene.lab.machine(node).exec(['nft', command])));
  return {
    name: one.name,
    mistake: one.mistake,
    ...(one.isFull === true ? { isFull: true } : {}),
    code: one.code ?? 'ServiceFiltered',
    verdict: `${lead}: ${causes.join('; ')}. ${before}: ${one.fix(place)}.`,
    ...withAlias('node3'),
    act: async (scene) =>
      void (await onBoth(
        scene,
        `table ${table} { chain c { type filter hook ${at} priority ${priority}; ${rules.map((rule) => `${rule};`).join(' ')} }; }`,
      )),
    undo: async (scene) => void (await onBoth(scene, `delete table ${table}`)),
  };
}

function ofService(place: Place, after: string): string[] {
  const [ipv4, ipv6] = poolAddresses(place, 1);
  return [`ip daddr ${ipv4} ${after}`, `ip6 daddr ${ipv6} ${after}`];
}

function ofEndpoint(place: Place, after: string): string[] {
  const [ipv4, ipv6] = aliasAt(place, 'node3').addresses;
  return [`ip daddr ${ipv4} ${after}`, `ip6 daddr ${ipv6} ${after}`];
}

function endpointsOf(place: Place): string[] {
  return aliasAt(place, 'node3').addresses.map((address) => targetOf(address, 8080));
}

function targetOf(address: string, port: number): string {
  return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
}

function inserts({ index }: Place, rules: readonly string[], family = 'inet'): string {
  return rules.map((rule) => `nft insert rule ${family} case${index} c ${rule}`).join(' && ');
}
