import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { onePodService } from './one-pod-service.ts';
import { nodes, longTimeouts, RecoveryBed } from './recovery-bed.ts';
import { duplicateAddress } from './recovery-faults.ts';

/** Two things claim the same identity or address. Tests what Herald reports, and that nothing else is affected. */
let bed: RecoveryBed;

beforeAll(async () => {
  bed = await RecoveryBed.start(longTimeouts);
});

afterAll(async () => {
  await bed?.lab.stop();
});

/** Sends TCP requests from the client to an address and returns the errors. */
async function errorsOf(address: string, count = 40): Promise<Readonly<Record<string, number>>> {
  return (await bed.lab.client.tcp({ address, port: 80, count, parallel: 4 })).errors;
}

describe('two nodes with one router ID', () => {
  test("FRR accepts both sessions, and the BGPPeer's condition names both nodes", async () => {
    const restore = await bed.withPeers((text) => text.replaceAll('connectTime: 1s', 'connectTime: 1s, routerID: 192.0.2.1'));
    const line = await bed.herald.controller.waitForLine(/DuplicateRouterID/);
    expect(line).toMatch(/nodes \\?"node1\\?" and \\?"node2\\?" both use router ID 192\.0\.2\.1/);
    await bed.untilAll();
    for (const address of bed.addresses) expect(await errorsOf(address)).toEqual({});
    await restore();
  });

  test('nodes may have the router ID of the ToR, because their AS differs (RFC 6286)', async () => {
    const restore = await bed.withPeers((text) => text.replaceAll('connectTime: 1s', 'connectTime: 1s, routerID: 10.8.0.11'));
    const { routerId } = await bed.lab.router('tor1').show<{ routerId: string }>('show bgp ipv4 unicast summary json');
    expect(routerId).toBe('10.8.0.11');
    await restore();
  });
});

test('a second agent for the same node and record is refused, with the process that has it', async () => {
  const before = (await bed.herald.sessions('node1')).map(({ since }) => since);
  const program = join(import.meta.dirname, '../../bin/herald');
  const { code, stderr } = await bed.lab
    .node('node2')
    .exec([program, 'agent', '--node', 'node1', '--source', bed.herald.directory], { check: false });
  expect(code).toBe(1);
  expect(stderr).toContain(`process ${bed.herald.agent('node1').pid}`);
  expect((await bed.herald.sessions('node1')).map(({ since }) => since)).toEqual(before);
  for (const address of bed.addresses) expect(await errorsOf(address)).toEqual({});
});

describe("another machine with a node's address", () => {
  test('it takes one session: explain reports it, and the other sessions and node are not affected', async () => {
    const stream = bed.stream();
    const others = async (): Promise<string[]> => {
      const sessions = await bed.herald.sessions('node1');
      return sessions.flatMap(({ peer, since }) => (peer === 'tor1-v4' ? [] : [since]));
    };
    const before = [await others(), (await bed.herald.sessions('node2')).map(({ since }) => since)];
    const { noticed, back, lost } = await duplicateAddress(bed, async () => {
      await bed.lab.until('explain reports the lost session', async (note) => {
        return /is not announced to tor1-v4: (the router 10\.1\.0\.1|hold timer of) /.test(note(await bed.herald.explain('shop/web')));
      });
      expect([await others(), (await bed.herald.sessions('node2')).map(({ since }) => since)]).toEqual(before);
    });
    expect(lost.lastError).toMatch(/hold timer expired|Hold Timer Expired|reset|no answer|closed/);
    const { text, late } = await stream.stop();
    console.info(`another machine has the node's address: noticed after ${noticed} ms, all routes ${back} ms after it has gone; ${text}`);
    expect(late).toBe(0);
  });
});

describe('a Service address that is also used elsewhere', () => {
  test('the Service is reachable although an interface of the node has its address', async () => {
    for (const node of nodes) {
      await bed.lab.node(node).ip(...bed.addresses.map((address) => `addr add ${address} dev lo`));
    }
    for (const address of bed.addresses) expect(await errorsOf(address)).toEqual({});
    for (const node of nodes) {
      await bed.lab.node(node).ip(...bed.addresses.map((address) => `addr del ${address} dev lo`));
    }
  });

  test('a Service gets an address of the link of the ToR once no node has it any more', async () => {
    const node2 = bed.lab.node('node2');
    await node2.ip('addr add 10.1.0.99/32 dev tor1');
    await bed.lab.until('node2 has reported the address', async (note) =>
      note(await bed.herald.read('.herald/nodes/node2.yaml')).includes('10.1.0.99'),
    );
    await bed.herald.write(
      '60-taken.yaml',
      `apiVersion: herald.dev/v1alpha1
kind: IPAddressPool
metadata: { name: taken }
spec: { addresses: [10.1.0.99-10.1.0.99], autoAssign: false }
---
${onePodService({
  name: 'taken',
  clusterIP: '10.96.0.60',
  pod: { address: '10.244.1.10', node: 'node1' },
  annotations: 'herald.dev/address-pool: taken',
})}`,
    );
    await bed.herald.untilCondition('shop/taken', 'AddressAssigned', 'False');
    for (const address of bed.addresses) expect(await errorsOf(address)).toEqual({});
    await node2.ip('addr del 10.1.0.99/32 dev tor1');
    expect(await bed.herald.untilAssigned('shop/taken', 1)).toEqual(['10.1.0.99']);
    const client = bed.lab.clientIn('client');
    await bed.lab.until('the client reaches the Service', async (note) => {
      const { pods } = note(await client.tcp({ address: '10.1.0.99', port: 80, count: 5 }));
      return Object.keys(pods).join() === 'web-1';
    });
    for (const address of bed.addresses) expect(await errorsOf(address)).toEqual({});
    await bed.herald.remove('60-taken.yaml');
  });
});
