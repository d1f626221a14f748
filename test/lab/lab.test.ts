import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { tors } from './address-plan.ts';
import { frrDirectories } from './frr.ts';
import { Lab } from './lab.ts';
import { isAlive } from './owner.ts';
import { sessionStates, sessionsUp } from './sessions.ts';
import { standardTopology } from './standard-topology.ts';
import { namespacesOf, processesOf } from './teardown.ts';

const pods = [
  { name: 'web-1', node: 'node1' },
  { name: 'web-2', node: 'node2' },
];
const families = [4, 6] as const;
const protocols = ['tcp', 'udp'] as const;
const cases = families.flatMap((family) => protocols.map((protocol) => ({ family, protocol, key: `ipv${family}` as const })));

describe('the standard lab', () => {
  let lab: Lab;
  beforeAll(async () => {
    lab = await Lab.start(standardTopology({ pods }));
  });
  afterAll(() => lab.stop());

  test.each(families)('the spine has a session with each ToR over IPv%s', async (family) => {
    const states = await sessionStates(lab.router('spine'), family);
    const expected = tors.map((tor) => [family === 4 ? tor.uplink.ipv4 : tor.uplink.ipv6, 'Established']);
    expect(Object.fromEntries(states)).toEqual(Object.fromEntries(expected));
  });

  test.each(cases)(
    "the client reaches a pod by $protocol over IPv$family, and the pod sees the client's address",
    async ({ protocol, key }) => {
      const answers = await lab.client[protocol]({ address: lab.pod('web-2').address[key], port: 8080, count: 20 });
      expect(answers).toMatchObject({ failed: 0, pods: { 'web-2': 20 }, clients: [key === 'ipv4' ? '10.9.0.2' : 'fd00:9::2'] });
      expect(new Set(answers.outcomes.map((outcome) => outcome.ok && outcome.clientPort)).size).toBe(20);
    },
  );

  test.each(cases)('a node reaches a pod of another node by $protocol over IPv$family', async ({ protocol, key }) => {
    const answers = await lab.clientIn('node1')[protocol]({ address: lab.pod('web-2').address[key], port: 8080, count: 10 });
    expect(answers).toMatchObject({ failed: 0, pods: { 'web-2': 10 }, clients: [lab.node('node1').plan.internal[key]] });
  });

  test.each(cases)('a port without a listener refuses $protocol over IPv$family', async ({ protocol, key }) => {
    const { errors } = await lab.client[protocol]({ address: lab.pod('web-1').address[key], port: 81 });
    expect(errors).toEqual({ ECONNREFUSED: 1 });
  });

  test('flows of one client to one pod use both ToRs', async () => {
    const packets = async (tor: string): Promise<number> => {
      const { stdout } = await lab.router(tor).exec(['ip', '-j', '-s', 'link', 'show', 'spine']);
      return (JSON.parse(stdout) as { stats64: { rx: { packets: number } } }[])[0]?.stats64.rx.packets ?? 0;
    };
    const before = await Promise.all(tors.map(({ name }) => packets(name)));
    await lab.client.udp({ address: lab.pod('web-1').address.ipv4, port: 8080, count: 256 });
    const after = await Promise.all(tors.map(({ name }) => packets(name)));
    // Sessions add a few packets of their own. A quarter of the requests is far above that number.
    for (const [index, count] of after.entries()) expect(count - (before[index] ?? 0)).toBeGreaterThan(64);
  });

  test('a node that is cut off is silent while its links stay up, and returns when healed', async () => {
    const address = lab.pod('web-1').address.ipv4;
    const other = lab.pod('web-2').address.ipv4;
    const probe = lab.client.probe({ protocol: 'tcp', address, port: 8080 });
    await lab.until('the probe is answered', () => probe.outcomes.some(({ ok }) => ok));
    await lab.cut('node1');
    await lab.cut('node1');
    const { stdout } = await lab.node('node1').exec(['ip', '-br', 'link', 'show', 'tor1']);
    expect(stdout).toContain('LOWER_UP');
    expect((await lab.client.tcp({ address, port: 8080, timeoutMs: 300 })).errors).toEqual({ TIMEOUT: 1 });
    expect((await lab.client.tcp({ address: other, port: 8080 })).failed).toBe(0);
    await lab.heal('node1');
    await lab.heal('node1');
    const healed = performance.timeOrigin + performance.now();
    await lab.until('the probe is answered again', () => probe.outcomes.some(({ ok, at }) => ok && at > healed));
    const { failed, errors } = await probe.stop();
    expect(failed).toBeGreaterThan(0);
    // A ToR that gets no neighbor answer for the address reports EHOSTUNREACH.
    expect((errors['TIMEOUT'] ?? 0) + (errors['EHOSTUNREACH'] ?? 0)).toBe(failed);
    expect(probe.lastFailure?.at).toBeGreaterThan(0);
  });

  test('an unplugged node uses its other link', async () => {
    const flows = ['10.9.0.2', 'fd00:9::2'].flatMap((target) =>
      Array.from({ length: 16 }, (_, index) => `route get ${target} ipproto tcp sport ${40_000 + index} dport 80\n`),
    );
    /** Waits until the flows leave by these links. The kernel takes up to a second to notice a carrier. */
    const untilDevices = async (wanted: string): Promise<void> => {
      await lab.until(`node2 sends over ${wanted}`, async (note) => {
        const { stdout } = await lab.node('node2').exec(['ip', '-batch', '-'], { input: flows.join('') });
        return (
          note(
            [...new Set([...stdout.matchAll(/ dev (\S+)/g)].map(([, device = '']) => device))]
              .toSorted((a, b) => a.localeCompare(b))
              .join(),
          ) === wanted
        );
      });
    };
    await untilDevices('tor1,tor2');
    await lab.unplug('node2', 'tor1');
    await untilDevices('tor2');
    expect((await lab.node('node2').exec(['ip', '-br', 'link', 'show', 'tor1'])).stdout).toContain('NO-CARRIER');
    await lab.plug('node2', 'tor1');
    await untilDevices('tor1,tor2');
    const answers = await lab.client.tcp({ address: lab.pod('web-2').address.ipv6, port: 8080, count: 10 });
    expect(answers.failed).toBe(0);
  });

  test('pods can be added, killed, restarted and removed', async () => {
    const { address } = await lab.addPod({ name: 'late', node: 'node3', ports: [9000] });
    expect((await lab.client.udp({ address: address.ipv6, port: 9000 })).pods).toEqual({ late: 1 });
    await lab.pod('late').kill();
    expect((await lab.client.tcp({ address: address.ipv4, port: 9000 })).errors).toEqual({ ECONNREFUSED: 1 });
    await lab.pod('late').restart();
    expect((await lab.client.tcp({ address: address.ipv4, port: 9000 })).pods).toEqual({ late: 1 });
    await lab.removePod('late');
    expect(namespacesOf(lab.id)).not.toContain(`${lab.id}-late`);
  });

  test('a killed router returns with its sessions, and traffic that needs no BGP is not interrupted', async () => {
    const spine = lab.router('spine');
    await lab.router('tor1').kill();
    await lab.until('the spine has lost tor1', async (note) => note(await sessionStates(spine, 4)).get('10.8.1.2') !== 'Established');
    const answers = await lab.client.tcp({ address: lab.pod('web-1').address.ipv4, port: 8080, count: 32 });
    expect(answers.failed).toBe(0);
    await lab.router('tor1').restart();
    await sessionsUp([spine]);
  });

  test('a process that ends without the awaited line rejects with its output', async () => {
    const ended = lab.control.spawn(['sh', '-c', 'echo no such luck; exit 3']);
    await expect(ended.waitForLine(/ready/)).rejects.toThrow('no such luck');
    expect(await ended.exited).toEqual({ code: 3, signal: null });
    const patient = lab.control.spawn(['sh', '-c', 'echo ready; exec sleep 60']);
    expect(await patient.waitForLine(/ready/)).toBe('ready');
    expect(await patient.stop()).toEqual({ code: null, signal: 'SIGTERM' });
  });

  test('a wait that times out reports the last seen value', async () => {
    await expect(lab.until('three routes', (note) => note(['one route']).length === 3, 60)).rejects.toThrow(
      "not within 60 ms: three routes; last seen: [ 'one route' ]",
    );
  });
});

test('stop leaves no namespace, process or directory', async () => {
  const lab = await Lab.start(standardTopology({ pods }));
  await lab.client.tcp({ address: lab.pod('web-1').address.ipv4, port: 8080 });
  const namespaces = namespacesOf(lab.id);
  const processes = processesOf(lab.id);
  expect(namespaces.length).toBe(10);
  // Three daemons on three routers, two pods, one client.
  expect(new Set(processes.map(({ pid }) => pid)).size).toBe(12);
  await lab.stop();
  expect(namespacesOf(lab.id)).toEqual([]);
  expect(processes.filter(isAlive)).toEqual([]);
  expect([lab.directory, ...namespaces.flatMap(frrDirectories)].filter((path) => existsSync(path))).toEqual([]);
});

test('start takes down the lab of a killed owner and leaves the lab of a living one alone', async () => {
  await using living = await Lab.start(standardTopology({ pods: [], nodes: 1 }));
  const program = `
    import { Lab } from ${JSON.stringify(fileURLToPath(new URL('lab.ts', import.meta.url)))};
    import { standardTopology } from ${JSON.stringify(fileURLToPath(new URL('standard-topology.ts', import.meta.url)))};
    const lab = await Lab.start(standardTopology({ pods: [{ name: 'web-1', node: 'node1' }] }));
    console.log(lab.id);
    setInterval(() => undefined, 1000);
  `;
  const owner = spawn(process.execPath, ['--input-type=module', '--eval', program], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [id = ''] = await Array.fromAsync(take(createInterface({ input: owner.stdout }), 1));
  const exited = new Promise((resolve) => {
    owner.once('exit', resolve);
  });
  owner.kill('SIGKILL');
  await exited;
  const orphans = processesOf(id);
  expect(orphans.filter(isAlive).length).toBeGreaterThanOrEqual(10);
  await using next = await Lab.start(standardTopology({ pods: [], nodes: 1 }));
  expect(namespacesOf(id)).toEqual([]);
  expect(orphans.filter(isAlive)).toEqual([]);
  expect(namespacesOf(living.id).length).toBe(namespacesOf(next.id).length);
  await sessionsUp([living.router('spine')]);
});

async function* take<T>(from: AsyncIterable<T>, count: number): AsyncGenerator<T> {
  let taken = 0;
  for await (const one of from) {
    yield one;
    if (++taken === count) return;
  }
}
