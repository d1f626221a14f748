import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { KubeClient } from '../../../../../src/kube/client/client.ts';
import { currentReport } from '../../../../../src/model/objects/node-state.ts';
import { KubernetesSource } from '../../../../../src/sources/kubernetes/kubernetes-source.ts';
import { problemText } from '../../../../../src/sources/source.ts';
import { systemClock } from '../../../../../src/system/clock.ts';
import { silentLog } from '../../../../../src/system/log.ts';
import { FakeApiServer } from '../../../kube/fake-api-server.ts';

const pods = '/api/v1/pods';
const watched = '/api/v1/namespaces/herald-system/pods';
const states = '/apis/herald.dev/v1alpha1/nodestates';
const started = '2026-01-01T00:00:00Z';
const running = { running: { startedAt: started } };

let server: FakeApiServer;
let client: KubeClient;
let source: KubernetesSource;

beforeEach(async () => {
  server = await FakeApiServer.start();
  client = new KubeClient({ server: server.url, credentials: async () => ({}), expired: () => undefined }, { clock: systemClock });
  server.put('/api/v1/nodes', 'n1', { status: { conditions: [{ type: 'Ready', status: 'True' }] } });
  const pod = { namespace: 'herald-system', name: 'agent-1', uid: 'uid-agent-1' };
  server.put(states, 'n1', { status: { updated: '2026-01-01T00:00:01Z', pod } });
  setContainer(running);
});

afterEach(async () => {
  await source.close();
  client.close();
  await server.stop();
});

function setContainer(state: object): void {
  const status = { containerStatuses: [{ name: 'agent', state }] };
  server.put(pods, 'agent-1', { spec: { nodeName: 'n1' }, status }, 'herald-system');
}

function read(node?: string): void {
  const components = { client, clock: systemClock, random: () => 0, log: silentLog };
  source = new KubernetesSource(components, { agentNamespace: 'herald-system', ...(node === undefined ? {} : { node }) });
}

const lives = (): boolean => currentReport(source.snapshot.nodeStates, 'n1', Date.now()) !== undefined;

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await pause(2);
}

describe('the Pods of agents', () => {
  test('a controller knows after its start which agents live, and hears at once of one that ends', async () => {
    server.put(states, 'n2', { status: { updated: '2026-01-01T00:00:01Z', pod: { namespace: 'herald-system', name: 'gone', uid: 'u' } } });
    server.put('/api/v1/nodes', 'n2');
    read();
    await source.start();
    expect(lives()).toBe(true);
    expect(currentReport(source.snapshot.nodeStates, 'n2', Date.now())).toBeUndefined();
    const changed: string[] = [];
    source.onChange((changes) => void changed.push(...changes.map(({ kind, key }) => `${kind}/${key}`)));
    setContainer({ terminated: { exitCode: 137 } });
    await until(() => changed.length > 0);
    expect(changed).toEqual(['NodeState/n1']);
    expect(lives()).toBe(false);
  });

  test('an agent watches them only while it reads reports', async () => {
    read('n1');
    await source.start();
    expect(server.watched).not.toContain(watched);
    server.put('/apis/herald.dev/v1alpha1/l2advertisements', 'lan', { spec: {} });
    await until(() => server.watched.includes(watched) && source.snapshot.nodeStates.size > 0);
    await until(lives);
  });

  test('a controller that may not read them starts, warns, and judges by the kubelet of the node', async () => {
    server.forbidden.add(watched);
    read();
    await source.start();
    expect(source.problems().map(problemText)).toEqual([
      expect.stringMatching(/Pods of agents in herald-system.*403.*Role in herald-system/),
    ]);
    expect(lives()).toBe(true);
    server.put('/api/v1/nodes', 'n1', { status: { conditions: [{ type: 'Ready', status: 'Unknown' }] } });
    await until(() => !lives());
  });
});
