import { afterEach, describe, expect, test } from 'vitest';
import { AgentsOnSegment, vip, vip6 } from './agents-on-segment.ts';

let lab: AgentsOnSegment | undefined;

afterEach(async () => {
  await lab?.close();
  lab = undefined;
});

describe('agents on a segment', () => {
  test('one node answers for each address, and clients reach pods of all nodes', async () => {
    lab = await AgentsOnSegment.build({ nodes: 3 });
    await lab.watch.ask([vip, vip6]);
    const owners = await lab.untilOwned();
    for (const owner of owners) expect([0, 1, 2]).toContain(owner);
    for (const address of [vip, vip6]) {
      const { failed, pods } = await lab.client.tcp({ address, port: 80, count: 60 });
      expect(failed).toBe(0);
      expect(Object.keys(pods).sort()).toEqual(['pod0', 'pod1', 'pod2']);
      expect((await lab.client.udp({ address, port: 80, count: 10 })).failed).toBe(0);
    }
    expect(await lab.condition('web', 'Announced')).toMatchObject({ status: 'True' });
  });
});
