import { afterAll, beforeAll, expect, test } from 'vitest';
import { NftablesDataplane } from '../../src/dataplane/nftables/nftables.ts';
import { machinePorts } from '../../src/dataplane/nftables/ports.ts';
import { namespaceNamed } from '../support/namespace-named.ts';
import type { Family } from '../../src/net/address.ts';
import type { ServiceForwarding } from '../../src/net/frontend.ts';
import { systemClock } from '../../src/system/clock.ts';
import { silentLog } from '../../src/system/log.ts';
import { frontend, frontendKinds, node, target, type Pod } from './dataplane/any-frontend.ts';
import { inside, namespaceOf, OneNode, type Machine, type Request } from './dataplane/one-node.ts';

/**
 * Opens connections one after the other from many clients, while the endpoints change all the time.
 *
 *   CHURN_CONNECTIONS=100000 npx vitest run --project lab test/lab/churn.test.ts
 */
const connections = Number(process.env['CHURN_CONNECTIONS'] ?? 20_000);
const leastFlips = connections / 10;
const families: readonly Family[] = [4, 6];
const subsets: readonly (readonly Pod[])[] = [[1], [2], [3], [1, 2], [2, 3], [1, 3], [1, 2, 3]];

let lab: OneNode;
let dataplane: NftablesDataplane;

beforeAll(async () => {
  lab = await OneNode.start();
  dataplane = new NftablesDataplane(machinePorts(systemClock, silentLog, { own: true, namespace: namespaceNamed(namespaceOf('node')) }));
  await dataplane.replace(node, new Map([['web', web([1, 2, 3])]]));
});

afterAll(async () => {
  await dataplane?.close();
  lab?.stop();
});

function web(pods: readonly Pod[]): ServiceForwarding {
  return { frontends: frontendKinds.flatMap((kind) => families.map((family) => frontend(kind, family, 'TCP', pods))) };
}

test(`${connections} connections succeed while endpoints change, and every pod gets some`, { timeout: 1_800_000 }, async () => {
  const kinds = families.flatMap((family) =>
    frontendKinds.map((kind): Request => ({ protocol: 'TCP', ...target(kind, family), timeout: 20_000 })),
  );
  const machines: readonly Machine[] = ['client', 'client', 'pod2'];
  const count = Math.ceil(connections / machines.length / kinds.length);
  const over = new AbortController();
  const clients = Promise.all(
    machines.map((from) =>
      lab.requests(
        from,
        kinds.map((request) => ({ ...request, count })),
      ),
    ),
  ).finally(() => over.abort());
  let flips = 0;
  const flipping = (async () => {
    while (!over.signal.aborted || flips < leastFlips) {
      flips++;
      const { quarantined } = await dataplane.apply(new Map([['web', web(subsets[(flips * 5) % subsets.length] ?? [1])]]));
      expect([...quarantined]).toEqual([]);
    }
  })();
  const outcomes = (await clients).flat();
  await flipping;
  const total: Record<string, number> = {};
  for (const { counts } of outcomes) for (const [who, times] of Object.entries(counts)) total[who] = (total[who] ?? 0) + times;
  if (total['TIMEOUT'] !== undefined)
    console.log(inside('node', 'conntrack -L -p tcp --state SYN_SENT'), inside('node', 'conntrack -L -f ipv6 -p tcp --state SYN_SENT'));
  console.log(`${flips} changes of endpoints; answers: ${JSON.stringify(total)}`);
  expect(Object.keys(total).toSorted()).toEqual(['pod1', 'pod2', 'pod3']);
  expect(Object.values(total).reduce((sum, times) => sum + times, 0)).toBe(count * kinds.length * machines.length);
});
