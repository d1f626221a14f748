import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { explain, firstLine, problems } from './diagnosis/faces.ts';
import { fabricOf } from './diagnosis/fabric.ts';
import type { Scene } from './diagnosis/misconfiguration.ts';
import { placeOf, poolAddresses } from './diagnosis/place.ts';
import { startStage, yamlOf } from './diagnosis/stage.ts';
import { podAt, serviceTo, type Endpoint } from './diagnosis/truth/truth-case.ts';

/** Two endpoints whose nodeName is that of the other, under externalTrafficPolicy Local and Cluster. Nobody has connected before. */
const nodes = ['node1', 'node2'];
const swapped: readonly Endpoint[] = [
  { ...podAt('node2'), node: 'node1' },
  { ...podAt('node1'), node: 'node2' },
];
const right = [podAt('node1'), podAt('node2')];
const places = { Local: placeOf('local', 1), Cluster: placeOf('cluster', 2) } as const;
let scene: Scene;

const write = (policy: 'Local' | 'Cluster', endpoints: readonly Endpoint[]): Promise<void> =>
  scene.herald.write(
    `${policy}.yaml`,
    yamlOf(serviceTo(places[policy], endpoints, undefined, { spec: { externalTrafficPolicy: policy } })),
  );

beforeAll(async () => {
  scene = await startStage([], { nodes, fabric: fabricOf(nodes, { services: 'all' }) });
  await write('Local', swapped);
  await write('Cluster', swapped);
});

afterAll(async () => {
  await scene?.lab.stop();
});

/** Connects to both addresses, and returns how many connections were answered of each family. */
async function answered(policy: 'Local' | 'Cluster'): Promise<readonly number[]> {
  const reports = await Promise.all(
    poolAddresses(places[policy], 1).map((address) => scene.lab.client.tcp({ address, port: 80, count: 8, timeoutMs: 1500 })),
  );
  return reports.map(({ failed }) => 8 - failed);
}

describe('endpoints with the node of each other', () => {
  test('under policy Local are named without a connection, with the slice, both nodes and the fix', async () => {
    await scene.lab.until('the verdict names them', async (note) =>
      note(await explain(scene, 'local/web')).verdict.line.startsWith('Not served: EndpointSlice local/web-ipv4'),
    );
    const line = await firstLine(scene, 'local/web');
    expect(line).toMatch(
      /^Not served: EndpointSlice local\/web-ipv4 says that 10\.244\.2\.10:8080 is on node "node1", but the address is in spec\.podCIDRs of node "node2", and the route of node "node1" leads away from it: /,
    );
    expect(line).toContain('Set nodeName of 10.244.2.10 to node2: kubectl -n local edit endpointslice web-ipv4');
    expect(await answered('Local')).toEqual([0, 0]);
    const rows = (await problems(scene)).problems.filter(({ object }) => object === 'Service/local/web');
    expect(rows).toMatchObject([{ code: 'EndpointOnOtherNode', line }]);
  });

  test('under policy Cluster are no problem', async () => {
    expect(await answered('Cluster')).toEqual([8, 8]);
    expect((await explain(scene, 'cluster/web')).verdict.code).toBeUndefined();
  });

  test('are named no longer within seconds after each has its node', async () => {
    await write('Local', right);
    await scene.lab.until(
      'no problem is named',
      async (note) => note(await explain(scene, 'local/web')).verdict.code === undefined,
      15_000,
    );
    expect(await answered('Local')).toEqual([8, 8]);
  });
});
