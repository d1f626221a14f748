import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { explain, firstLine, problems } from './diagnosis/faces.ts';
import { fabricOf } from './diagnosis/fabric.ts';
import type { Scene } from './diagnosis/misconfiguration.ts';
import { placeOf, poolAddresses } from './diagnosis/place.ts';
import { healthy } from './diagnosis/objects.ts';
import { startStage, yamlOf } from './diagnosis/stage.ts';

/** Two nodes with two uplinks each, of which one router loses a family. Clients of the other router are answered. */
const nodes = ['node1', 'node2'];
const place = placeOf('uplinks', 1);
const [ipv4, ipv6] = poolAddresses(place, 1);
const addresses = { IPv4: ipv4, IPv6: ipv6 } as const;
const service = 'uplinks/web';
let scene: Scene;

beforeAll(async () => {
  scene = await startStage([], { nodes, fabric: fabricOf(nodes, { services: 'all' }) });
  await scene.herald.write('uplinks.yaml', yamlOf(healthy(place)));
  await scene.lab.until('both families are answered by both routers', async (note) =>
    note(await Promise.all([connect(20), explain(scene, service)]))[1].verdict.line.startsWith('Served'),
  );
});

afterAll(async () => {
  await scene?.lab.stop();
});

/** Connects to both addresses, and returns how many connections failed of each family. */
async function connect(count: number): Promise<readonly number[]> {
  const reports = await Promise.all(
    Object.values(addresses).map((address) => scene.lab.client.tcp({ address, port: 80, count, parallel: 40, timeoutMs: 500 })),
  );
  return reports.map(({ failed }) => failed);
}

interface Hint {
  readonly object: string;
  readonly others?: readonly string[];
  readonly line: string;
}

const hints = async (): Promise<readonly Hint[]> =>
  (await problems(scene)).problems.filter(({ code }) => code === 'UplinkWithoutConnections');

describe.each([
  ['IPv4', 'ip'],
  ['IPv6', 'ip6'],
] as const)('a router that drops packets over %s', (family, ip) => {
  const address = addresses[family];
  const tor = (...words: string[]) => scene.lab.machine('tor2').exec(['nft', words.join(' ')]);

  test('is named by the nodes behind it while other clients are answered', async () => {
    await connect(100);
    expect(await hints()).toEqual([]);
    await tor(`table ${ip} lost { chain c { type filter hook forward priority 0; ${ip} daddr ${address} drop; }; }`);
    await scene.lab.until('the nodes name the uplink', async (note) => {
      const failed = await connect(100);
      const found = note({ failed, hints: await hints() }).hints;
      return found.flatMap(({ object, others = [] }) => [object, ...others]).length === nodes.length;
    });
    const [failed4 = 0, failed6 = 0] = await connect(100);
    const [lost, other] = family === 'IPv4' ? [failed4, failed6] : [failed6, failed4];
    expect(lost).toBeGreaterThan(10);
    expect(other).toBe(0);
    for (const { line } of await hints()) {
      expect(line).toMatch(
        new RegExp(`^Since \\S+Z no connection over ${family} has come in by tor2 .*first packets came in by tor1; before, \\d+ % `),
      );
      expect(line).toContain(`show bgp ${family.toLowerCase()} unicast ${address}/`);
    }
    expect(await firstLine(scene, service)).toMatch(
      new RegExp(`^Served: .*\\. Perhaps not those of all clients: since \\S+Z no connection over ${family} has come in by tor2 `),
    );
  });

  test('is named no longer within seconds after it lets clients through', async () => {
    await tor(`delete table ${ip} lost`);
    await scene.lab.until(
      'no node names an uplink',
      async (note) => {
        await connect(20);
        return note(await hints()).length === 0;
      },
      15_000,
    );
    expect(await connect(100)).toEqual([0, 0]);
    expect(await firstLine(scene, service)).toMatch(/^Served: [^.]*\.[^.]*\.[^.]*\.[\da-f: and]*via node1 and node2;[^.]*\.$/);
  });
});
