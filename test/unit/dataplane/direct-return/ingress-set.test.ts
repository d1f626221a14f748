import { beforeEach, describe, expect, test } from 'vitest';
import { IngressSet } from '../../../../src/dataplane/direct-return/ingress-set.ts';
import { pathCheckInterval } from '../../../../src/dataplane/direct-return/limits.ts';
import type { DirectReturnNode } from '../../../../src/net/direct-return.ts';
import { address } from '../../../../src/net/address.ts';
import { silentLog } from '../../../../src/system/log.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';
import { FakeIngress } from './fake-paths.ts';

const node: DirectReturnNode = {
  addresses: [address('10.0.0.1')],
  interfaces: ['eth0'],
  targets: [{ node: address('10.0.0.2'), ingress: true }],
  linkAddresses: ['02:00:00:00:00:02'],
  tunnels: false,
};

let ingress: FakeIngress;
let clock: VirtualClock;
let repaired: string[];
let set: IngressSet;
beforeEach(async () => {
  ingress = new FakeIngress();
  clock = new VirtualClock();
  repaired = [];
  set = new IngressSet({ ingress, clock, log: silentLog }, (what) => repaired.push(what));
  set.setNode(node);
  await set.commit();
});

async function check(): Promise<void> {
  clock.advance(pathCheckInterval);
  for (let turn = 0; turn < 20; turn++) await Promise.resolve();
}

describe('the ingress table that another program has removed', () => {
  test('it is created again, and the repair is reported', async () => {
    expect(ingress.present).toBe(true);
    ingress.present = false;
    await check();
    expect([ingress.present, repaired]).toEqual([true, ['the ingress table']]);
  });

  test('no repair is reported when the kernel refuses it', async () => {
    ingress.present = false;
    ingress.refuses = 'no';
    await check();
    expect([ingress.present, repaired]).toEqual([false, []]);
  });

  test('no repair is reported when the table is there', async () => {
    await check();
    expect([ingress.scripts.length, repaired]).toEqual([1, []]);
  });
});
