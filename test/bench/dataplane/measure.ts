import { writeSync } from 'node:fs';
import { NftablesDataplane } from '../../../src/dataplane/nftables/nftables.ts';
import { commandPorts, machinePorts, namespaceNamed } from '../../../src/dataplane/nftables/ports.ts';
import type { NftablesPorts } from '../../../src/dataplane/nftables/nftables.ts';
import { address } from '../../../src/net/address.ts';
import type { Backend, Frontend, NodeForwarding, ServiceForwarding } from '../../../src/net/frontend.ts';
import { prefix } from '../../../src/net/prefix.ts';
import { systemClock } from '../../../src/system/clock.ts';
import { silentLog } from '../../../src/system/log.ts';
import { median } from '../bgp/statistics.ts';

/** What one executor needs for so many Services; milliseconds and megabytes. */
export interface Figures {
  readonly executor: string;
  readonly services: number;
  readonly elements: number;
  /** From the objects to the kernel's commit, into an empty kernel. */
  readonly load: number;
  /** Another instance starts: it reads the tables and finds nothing to do. */
  readonly adopt: number;
  /** One endpoint of one Service is replaced: median. */
  readonly change: number;
  /** A Service with a frontend of its own is added: median. */
  readonly add: number;
  /** Resident memory of the process at the end. */
  readonly memory: number;
}

/** A ClusterIP with 2 to 10 endpoints on one port; 6 on average. */
function service(index: number, version = 0): ServiceForwarding {
  const backends = Array.from({ length: 2 + ((index * 7) % 9) }, (_, slot): Backend => {
    const pod = index * 10 + slot + (slot === 0 ? version * 600_000 : 0);
    return { address: address(`10.${(pod >> 16) & 255}.${(pod >> 8) & 255}.${pod & 255}`), port: 8_080, local: slot === 0 };
  });
  const frontend: Frontend = {
    match: {
      kind: 'address',
      address: address(`172.${16 + (index >> 16)}.${(index >> 8) & 255}.${index & 255}`),
      protocol: 'TCP',
      port: 80,
    },
    scope: 'internal',
    policy: 'Cluster',
    backends,
    localBackends: [],
  };
  return { frontends: [frontend] };
}

const node: NodeForwarding = {
  nodePortAddresses: [prefix('192.0.2.1/32')],
  podPrefixes: [prefix('10.0.0.0/8')],
  servicePrefixes: [prefix('172.16.0.0/12')],
  masqueradeBit: 14,
};

const [executor = 'netlink', namespace = '', services = '1000', changes = '100'] = process.argv.slice(2);
const where = namespaceNamed(namespace);
const open = (): NftablesPorts =>
  executor === 'netlink'
    ? machinePorts(systemClock, silentLog, { own: false, namespace: where })
    : commandPorts(systemClock, silentLog, where.commandPrefix);

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

const wanted = new Map(Array.from({ length: Number(services) }, (_, index) => [`s${index}`, service(index)]));
const dataplane = new NftablesDataplane(open());
const load = await timed(() => dataplane.replace(node, wanted));
// The watch looks once after its start; afterwards nothing else is going on.
await new Promise((resolve) => setTimeout(resolve, 3_000));
const change: number[] = [];
const add: number[] = [];
for (let round = 1; round <= Number(changes); round++) {
  const index = (round * 7_919) % Number(services);
  change.push(await timed(() => dataplane.apply(new Map([[`s${index}`, service(index, 1)]]))));
  add.push(await timed(() => dataplane.apply(new Map([[`new${round}`, service(Number(services) + round)]]))));
}
const memory = process.memoryUsage.rss() / 1e6;
await dataplane.close();
const successor = new NftablesDataplane(open());
for (let round = 1; round <= Number(changes); round++) {
  const index = (round * 7_919) % Number(services);
  wanted.set(`s${index}`, service(index, 1)).set(`new${round}`, service(Number(services) + round));
}
const adopt = await timed(() => successor.replace(node, wanted));
await successor.close();
const backends = [...wanted.values()].flatMap(({ frontends }) => frontends.flatMap((frontend) => frontend.backends)).length;
const figures: Figures = {
  executor,
  services: Number(services),
  elements: backends + wanted.size * 2 + 4,
  load,
  adopt,
  change: median(change),
  add: median(add),
  memory,
};
writeSync(1, JSON.stringify(figures));
process.exit();
