import { setTimeout as sleep } from 'node:timers/promises';
import type { Family } from '../../src/net/address.ts';
import type { Protocol } from '../../src/net/frontend.ts';
import type { Random } from '../fuzz/random.ts';
import { offsetAddress } from './flows.ts';
import { lastingDifferences } from './lasting-differences.ts';
import { clients, clusterIP, loadBalancerIP, slots, type Environment, type Objects } from './objects.ts';
import { fateOf, type Fresh } from './observe.ts';
import { nodeAddresses, type Sent, type Stand } from './stand.ts';
import { placeText } from './wire.ts';

/**
 * A flow that begins before a change of the objects and continues after it. It has several clients, which reach several endpoints by
 * chance.
 */
export interface LastingFlow {
  readonly protocol: Protocol;
  readonly destination: string;
  readonly port: number;
}

/** The fates of the clients, in their order. */
export type Fates = readonly string[];

const clientsPerFlow = 12;
/** No other client uses addresses this far up in the prefix, or this port. */
const firstClient = 1_500_000;
const sourcePort = 900;

/** Returns flows to addresses where Services are created and removed, whether or not one exists now. */
export function lastingFlows(random: Random, count: number): LastingFlow[] {
  return Array.from({ length: count }, () => {
    const [family, slot, index] = [random.pick<Family>([4, 6]), random.pick(slots), random.pick([0, 1])];
    const protocol = random.pick<Protocol>(['UDP', 'UDP', 'UDP', 'TCP', 'SCTP']);
    const port = 1_000 + slot * 10 + index;
    return {
      protocol,
      ...random.pick([
        { destination: clusterIP(family, slot), port },
        { destination: loadBalancerIP(family, slot, 0), port },
        { destination: nodeAddresses[family][0], port: 30_000 + slot * 10 + index },
      ]),
    };
  });
}

/** Sends one packet of each client, with the same addresses and ports each time. */
export async function continueFlows(stand: Stand, flows: readonly LastingFlow[], fresh: Fresh): Promise<Fates[]> {
  const sent = flows.map((flow, number) =>
    Array.from({ length: clientsPerFlow }, (_, client): Sent => {
      const prefix = clients.allowed[flow.destination.includes(':') ? 6 : 4];
      const source = offsetAddress(prefix.slice(0, prefix.indexOf('/')), firstClient + number * clientsPerFlow + client);
      return { ...flow, entry: 'outside', source, sourcePort, id: ++fresh.id };
    }),
  );
  const seen = await stand.send(sent.flat());
  return sent.map((packets) => packets.map(({ id, source }) => fateOf(seen.get(id) ?? [], source)));
}

/** Returns for each earlier fate what happened to its flows: "kept", "moved" to another destination, or how they ended. */
export function outcomesByFate(before: Fates, after: Fates): ReadonlyMap<string, ReadonlySet<string>> {
  const became = new Map<string, Set<string>>();
  for (const [client, fate] of before.entries()) {
    // A packet that was not delivered left no flow that could continue.
    if (!isDelivered(fate)) continue;
    const now = after[client] ?? '';
    const kind = now === fate ? 'kept' : isDelivered(now) ? 'moved' : now;
    became.set(fate, (became.get(fate) ?? new Set()).add(kind));
  }
  return became;
}

function isDelivered(fate: string): boolean {
  return fate.includes(' as ');
}

/** The fates on both sides before a change. */
export interface FatesBeforeChange {
  readonly flows: readonly LastingFlow[];
  readonly kubeProxy: readonly Fates[];
  readonly herald: readonly Fates[];
}

/**
 * Compares continuing flows whose fate was equal before the change. Both sides clean up shortly after a change, so the comparison is
 * repeated until they agree.
 */
export async function compareLasting(
  begun: FatesBeforeChange,
  now: { readonly objects: Objects; readonly environment: Environment },
  kubeProxy: Stand,
  herald: Stand,
  fresh: Fresh,
): Promise<{ readonly problems: readonly string[]; readonly used: readonly string[] }> {
  for (let attempt = 1; ; attempt++) {
    const used: string[] = [];
    const [theirs, ours] = [await continueFlows(kubeProxy, begun.flows, fresh), await continueFlows(herald, begun.flows, fresh)];
    const problems = begun.flows.flatMap((flow, number) => {
      const expected = outcomesByFate(begun.kubeProxy[number] ?? [], theirs[number] ?? []);
      const seen = outcomesByFate(begun.herald[number] ?? [], ours[number] ?? []);
      return [...expected].flatMap(([fate, wanted]) => {
        const found = seen.get(fate);
        if (found === undefined || found.symmetricDifference(wanted).size === 0) return [];
        const meant = lastingDifferences.find(({ allows }) => allows({ flow, fate, kubeProxy: wanted, herald: found, ...now }));
        if (meant !== undefined) {
          used.push(meant.name);
          return [];
        }
        return [
          `${flow.protocol} ${placeText(flow.destination, flow.port)}, begun to ${fate}: Herald ${[...found].join()}, kube-proxy ${[...wanted].join()}`,
        ];
      });
    });
    if (problems.length === 0 || attempt === patience) return { problems, used };
    await sleep(200);
  }
}

const patience = 15;
