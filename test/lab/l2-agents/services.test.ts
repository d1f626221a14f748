import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { documents, type Manifest } from '../host/objects.ts';
import { until } from '../until.ts';
import { AgentsOnSegment, vip, vip6 } from './agents-on-segment.ts';
import { announcementManifests, nodeAddress, nodeAddress6, nodeName, serviceManifests, type ServiceOptions } from './manifests.ts';
import { wallTime } from './watch.ts';

const nodes = [0, 1, 2];
const local = ['10.77.1.11', 'fd77::1:11'] as const;
const shared = ['10.77.1.12', 'fd77::1:12'] as const;
const many = Array.from({ length: 6 }, (_, at) => [`10.77.1.${20 + at}`, `fd77::1:${20 + at}`]).flat();
const healthPort = 30_990;
let lab: AgentsOnSegment;

/** The state of the endpoints of the Service of policy Local, by node. A node without one has no endpoint. */
type Conditions = Readonly<Record<string, boolean>>;
const ready: Conditions = { ready: true };
const notReady: Conditions = { ready: false, serving: false, terminating: false };
const terminating: Conditions = { ready: false, serving: true, terminating: true };

const requested = (addresses: readonly string[], more: Readonly<Record<string, string>> = {}): Pick<ServiceOptions, 'annotations'> => ({
  annotations: { 'herald.dev/load-balancer-ips': addresses.join(), ...more },
});

const sharing = { 'herald.dev/allow-shared-ip': 'yes' };

/** A Service of policy Local, with internalTrafficPolicy Local too, which has no meaning for addresses of load balancers. */
function localService(conditions: ReadonlyMap<number, Conditions>): Manifest[] {
  const spec = { externalTrafficPolicy: 'Local', internalTrafficPolicy: 'Local', healthCheckNodePort: healthPort };
  return serviceManifests({ name: 'local', number: 2, pods: [...conditions.keys()], spec, ...requested(local) }).map((manifest) => {
    const { endpoints } = manifest as { endpoints?: readonly { readonly nodeName: string }[] };
    if (endpoints === undefined) return manifest;
    const states = [...conditions.values()];
    return { ...manifest, endpoints: endpoints.map((endpoint, index) => ({ ...endpoint, conditions: states[index] })) };
  });
}

const manifests = (conditions: ReadonlyMap<number, Conditions>): Manifest[] => {
  const ports = [{ name: 'tcp', protocol: 'TCP', port: 81, targetPort: 8080, nodePort: 30_099 }];
  return [
    ...announcementManifests(),
    ...serviceManifests({ pods: nodes, ...requested([vip, vip6]), spec: { internalTrafficPolicy: 'Local' } }),
    ...localService(conditions),
    ...serviceManifests({ name: 'first', number: 3, pods: [0], ...requested(shared, sharing) }),
    ...serviceManifests({ name: 'second', number: 4, pods: [1], ...requested(shared, sharing), spec: { ports } }),
    ...serviceManifests({ name: 'many', number: 5, pods: nodes, ...requested(many) }),
  ];
};

const bothReady = new Map([
  [1, ready],
  [2, ready],
]);

beforeAll(async () => {
  lab = await AgentsOnSegment.build({ nodes: nodes.length, manifests: manifests(bothReady) });
  await lab.watch.ask([vip, vip6, ...local, ...shared, ...many], 25);
  await lab.untilOwned([vip, vip6, ...local, ...shared, ...many]);
});

afterAll(async () => {
  await lab?.close();
});

const setLocal = (conditions: ReadonlyMap<number, Conditions>): Promise<void> =>
  lab.write('20-herald.yaml', documents(...manifests(conditions)));

/** Gives the Service of policy Local its two endpoints, and waits until nodes with one own its addresses. */
async function restoreLocal(): Promise<void> {
  await setLocal(bothReady);
  await until('nodes with an endpoint own the addresses', async (note) =>
    note(await lab.untilOwned(local)).every((owner) => bothReady.has(owner)),
  );
}

/** Waits until no node reports a difference between decision and answers. */
async function untilAgreed(): Promise<void> {
  await until('all nodes agree', async (note) => {
    const reports = await Promise.all(nodes.map((at) => lab.report(at)));
    return note(reports.flatMap(({ differing = [] }, at) => differing.map(({ reason }) => `${nodeName(at)} ${reason.code}`))).length === 0;
  });
}

const clientOf = (address: string): string => (address.includes(':') ? nodeAddress6(lab.clientHost) : nodeAddress(lab.clientHost));

async function healthOf(at: number, family: 4 | 6): Promise<string> {
  const host = family === 4 ? nodeAddress(at) : `[${nodeAddress6(at)}]`;
  const { stdout } = await lab.exec(
    lab.clientHost,
    ['curl', '-s', '-m', '5', '-o', '/dev/null', '-w', '%{http_code}', `http://${host}:${healthPort}/`],
    { check: false },
  );
  return stdout;
}

describe('externalTrafficPolicy Cluster', () => {
  test.each([vip, vip6])('%s answers over TCP and UDP with pods of all nodes', async (address) => {
    const tcp = await lab.client.tcp({ address, port: 80, count: 60 });
    expect(tcp.errors).toEqual({});
    expect(Object.keys(tcp.pods).sort()).toEqual(['pod0', 'pod1', 'pod2']);
    const udp = await lab.client.udp({ address, port: 80, count: 60 });
    expect(udp.errors).toEqual({});
    expect(Object.keys(udp.pods).sort()).toEqual(['pod0', 'pod1', 'pod2']);
  });
});

describe('externalTrafficPolicy Local', () => {
  beforeEach(restoreLocal);

  test.each(local)('%s is owned by a node with an endpoint, and pods see the address of the client', async (address) => {
    const [owner] = await lab.untilOwned([address]);
    for (const protocol of ['tcp', 'udp'] as const) {
      const { errors, pods, clients } = await lab.client[protocol]({ address, port: 80, count: 20 });
      expect(errors).toEqual({});
      expect(pods).toEqual({ [`pod${owner}`]: 20 });
      expect(clients).toEqual([clientOf(address)]);
    }
  });

  test.each([4, 6] as const)('IPv%i: health-check node ports answer 200 on nodes with an endpoint and 503 on the other', async (family) => {
    for (const at of nodes) {
      const status = bothReady.has(at) ? '200' : '503';
      await until(`node ${at} answers ${status}`, async (note) => note(await healthOf(at, family)) === status);
    }
  });

  test.each([
    ['leaves', undefined],
    ['becomes unready', notReady],
    ['begins to terminate', terminating],
  ] as const)('the other node takes over when the last endpoint of the owner %s', async (_, conditions) => {
    for (const [index, address] of local.entries()) {
      const [owner] = await lab.untilOwned([address]);
      const other = owner === 1 ? 2 : 1;
      const probe = lab.client.probe({ protocol: 'tcp', address, port: 80, intervalMs: 10, timeoutMs: 3_000 });
      await until('requests are answered', () => probe.outcomes.length >= 5);
      const began = wallTime();
      await setLocal(new Map([[other, ready], ...(conditions === undefined ? [] : [[owner ?? 0, conditions] as const])]));
      await lab.untilOwner(other, [address]);
      await sleep(300);
      const silence = await lab.watch.longestSilence(address, began, wallTime());
      const { errors, outcomes } = await probe.stop();
      console.log(`${address}: longest time without an answer ${Math.round(silence)} ms; ${outcomes.length} requests, failed:`, errors);
      expect(silence).toBeLessThan(1_500);
      // A pod that terminates goes on serving. Only connections that are open when the owner changes end, as explain says.
      if (conditions === terminating) {
        const frames = await lab.watch.frames();
        const changed =
          frames.find(({ at, address: of, mac }) => of === address && at > began && mac === lab.segment.macOf(other))?.at ?? 0;
        expect(outcomes.filter((one) => !one.ok && (one.error !== 'ECONNRESET' || one.at > changed + 50))).toEqual([]);
      }
      const { pods } = await lab.client.tcp({ address, port: 80, count: 10 });
      expect(pods).toEqual({ [`pod${other}`]: 10 });
      if (index === 0) await restoreLocal();
    }
    if (conditions !== undefined) {
      const gone = nodes.filter((at) => at !== 0);
      const statuses = await Promise.all(gone.map((at) => healthOf(at, 4)));
      expect(statuses.toSorted()).toEqual(['200', '503']);
    }
  });

  test('no node answers while no endpoint is ready, then the first node with one answers', async () => {
    await setLocal(new Map());
    await until('nobody answers', async (note) =>
      note(await Promise.all(local.map((address) => lab.answering(address)))).every(({ length }) => length === 0),
    );
    const explained = await lab.explain('shop/local');
    expect(explained).toContain('the Service has no endpoints');
    await setLocal(new Map([[0, ready]]));
    await lab.untilOwner(0, local);
  });
});

describe('addresses and owners', () => {
  test('two Services that share an address have one owner, and both answer', async () => {
    await lab.untilOwned(shared);
    for (const address of shared) {
      const first = await lab.client.tcp({ address, port: 80, count: 10 });
      const second = await lab.client.tcp({ address, port: 81, count: 10 });
      expect([first.pods, second.pods]).toEqual([{ pod0: 10 }, { pod1: 10 }]);
    }
  });

  test('the addresses of one Service have owners on several nodes, one for each address of each family', async () => {
    const owners = await lab.untilOwned(many);
    console.log('owners of 12 addresses of one Service:', owners.join(' '));
    expect(new Set(owners).size).toBeGreaterThan(1);
    const reports = await Promise.all(many.map((address) => lab.client.tcp({ address, port: 80, count: 3 })));
    expect(reports.map(({ failed }) => failed)).toEqual(many.map(() => 0));
  });

  test('a Service that leaves a shared address does not end the announcement for the other', async () => {
    // The number of addresses of each node takes part in the choice of owners.
    await restoreLocal();
    await untilAgreed();
    const owners = await lab.untilOwned(shared);
    const began = wallTime();
    const probe = lab.client.probe({ protocol: 'tcp', address: shared[0], port: 81, intervalMs: 10, timeoutMs: 3_000 });
    await lab.write(
      '20-herald.yaml',
      documents(...manifests(bothReady).filter(({ metadata }) => !(metadata as { name: string }).name.startsWith('first'))),
    );
    await until(
      'the rules of the first Service are gone',
      async () => (await lab.client.tcp({ address: shared[0], port: 80, timeoutMs: 500 })).failed > 0,
    );
    expect(await lab.untilOwned(shared)).toEqual(owners);
    expect((await probe.stop()).errors).toEqual({});
    for (const address of shared) expect((await lab.watch.answers(address, began)).size).toBe(1);
    await setLocal(bothReady);
  });

  test('every node reports no difference between decision and answers', async () => {
    await untilAgreed();
  });
});
