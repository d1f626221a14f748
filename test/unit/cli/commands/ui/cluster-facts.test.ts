import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openConsoleFacts } from '../../../../../src/cli/commands/ui/console-facts.ts';
import { fabricView } from '../../../../../src/console/views/fabric.ts';
import { heraldApiVersion } from '../../../../../src/model/kinds.ts';
import { FabricCluster, listPath } from '../../fabric-cluster.ts';
import { collecting } from '../../in-process.ts';

let cluster: FabricCluster;
beforeEach(async () => {
  cluster = await FabricCluster.start();
});
afterEach(() => cluster.stop());

const reports = { apiVersion: heraldApiVersion, kind: 'NodeState' };

describe('the facts of a cluster', () => {
  test('a new report of a node is in the next picture, without another list', async () => {
    const report = (state: string): void =>
      cluster.put({
        ...reports,
        metadata: { name: 'node1' },
        status: { updated: new Date().toISOString(), sessions: [{ peer: 'tor1-v4', address: '10.1.0.1', state, prefixesSent: 0 }] },
      });
    report('Established');
    const { context } = collecting({ variables: { KUBECONFIG: cluster.kubeconfig } });
    const facts = await openConsoleFacts(context, { ask: false });
    const sessionOf = async () => fabricView(await facts.read()).sessions.find(({ node, peer }) => node === 'node1' && peer === 'tor1-v4');
    expect(await sessionOf()).toMatchObject({ state: 'Established', health: 'good' });
    await expect.poll(() => cluster.server.watched).toContain(listPath(reports));
    await facts.changed?.();
    await facts.read();
    const lists = (): number => cluster.server.paths.filter((path) => path === '/api/v1/services').length;
    const before = lists();
    expect(before).toBeGreaterThan(0);
    report('Active');
    await facts.changed?.();
    expect(await sessionOf()).toMatchObject({ state: 'Active', health: 'bad' });
    expect(lists()).toBe(before);
    await facts.close();
    await expect.poll(() => cluster.server.watchers).toBe(0);
  });

  test('a caller without the right to watch reports sees the cluster', async () => {
    cluster.server.forbidden.add(listPath(reports));
    const { context } = collecting({ variables: { KUBECONFIG: cluster.kubeconfig } });
    const facts = await openConsoleFacts(context, { ask: false });
    const { notes, nodes } = fabricView(await facts.read());
    expect(nodes.length).toBeGreaterThan(0);
    expect(notes.map(({ line }) => line).join('\n')).toContain('nodestates');
    await facts.close();
  });
});

describe('while the API server is away', () => {
  test('a Service that nobody opened before is explained from the last picture, with its time and the reason', async () => {
    const { context } = collecting({ variables: { KUBECONFIG: cluster.kubeconfig } });
    const facts = await openConsoleFacts(context, { ask: false });
    const picture = await facts.read();
    expect(picture.from).toMatch(/^context a, the cluster at \S+$/);
    await cluster.server.stop();
    const explained = await facts.explain('shop/web');
    expect(explained?.stale).toMatch(/\S/);
    expect(explained?.at).toBe(new Date(picture.now).toISOString());
    expect(explained?.explanation.verdict.line).toBe(picture.verdicts.get('shop/web')?.line);
    await expect(facts.explain('shop/nothing')).resolves.toBeUndefined();
    await facts.close();
  });
});
