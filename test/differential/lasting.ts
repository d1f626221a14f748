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

/** A flow that begins before a change of the objects and goes on after it: from several clients, which chance sends to several endpoints. */
export interface LastingFlow {
  readonly protocol: Protocol;
  readonly destination: string;
  readonly port: number;
}

/** Fates of the clients, in their order. */
export type Fates = readonly string[];

const clientsPerFlow = 12;
/** No other client comes from so far up in the prefix, or from this port. */
const firstClient = 1_500_000;
const sourcePort = 900;

/** To addresses where Services come and go, whether or not there is one now. */
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

/** Sends one packet of each client; the same each time. */
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

/** What the change did to the flows that had each fate before: "kept", "moved" to somewhere else, or how they ended. */
export function whatBecame(before: Fates, after: Fates): ReadonlyMap<string, ReadonlySet<string>> {
  const became = new Map<string, Set<string>>();
  for (const [client, fate] of before.entries()) {
    // What arrived nowhere left nothing that could go on.
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

/** Both sides before a change. */
export interface Begun {
  readonly flows: readonly LastingFlow[];
  readonly kubeProxy: readonly Fates[];
  readonly herald: readonly Fates[];
}

/** Where flows that began alike went on otherwise; both sides clean up a moment after the change, so they are looked at until they agree. */
export async function compareLasting(
  begun: Begun,
  now: { readonly objects: Objects; readonly environment: Environment },
  kubeProxy: Stand,
  herald: Stand,
  fresh: Fresh,
): Promise<{ readonly problems: readonly string[]; readonly used: readonly string[] }> {
  for (let attempt = 1; ; attempt++) {
    const used: string[] = [];
    const [theirs, ours] = [await continueFlows(kubeProxy, begun.flows, fresh), await continueFlows(herald, begun.flows, fresh)];
    const problems = begun.flows.flatMap((flow, number) => {
      const expected = whatBecame(begun.kubeProxy[number] ?? [], theirs[number] ?? []);
      const seen = whatBecame(begun.herald[number] ?? [], ours[number] ?? []);
      return [...expected].flatMap(([fate, wanted]) => {
        const found = seen.get(fate);
        if (found === undefined || found.symmetricDifference(wanted).size === 0) return [];
        const meant = lastingDifferences.find(({ allows }) => allows({ flow, fate, kubeProxy: wanted, herald: found, ...now }));
        if (meant !== undefined) {
          used.push(meant.name);
          return [];
        }
        return [
          `${flow.protocol} ${placeText(flow.destination, flow.port)}, begun to ${fate}: ${[...found].join()}, and with kube-proxy ${[...wanted].join()}`,
        ];
      });
    });
    if (problems.length === 0 || attempt === patience) return { problems, used };
    await sleep(200);
  }
}

const patience = 15;
