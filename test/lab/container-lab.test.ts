import { chownSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { frrDirectories } from './frr.ts';
import { examples, HeraldInLab } from './herald.ts';
import { Lab } from './lab.ts';
import { Router } from './router.ts';
import { untilNextHops, untilSpineRoutes, viaNodes } from './routes.ts';
import { sessionsUp } from './sessions.ts';
import type { FrrDaemon, LinkEnd, MachineSpec, Topology } from './topology.ts';

/** Runs examples/containerlab/topology.clab.yml as containerlab does: containers without a network, links, programs, then `exec`. */

const folder = join(import.meta.dirname, '../../examples/containerlab');

interface Container {
  readonly image: string;
  readonly entrypoint?: string;
  readonly cmd?: string;
  readonly binds: readonly string[];
  readonly exec: readonly string[];
}

const file = parse(readFileSync(join(folder, 'topology.clab.yml'), 'utf8')) as {
  readonly topology: {
    readonly nodes: Readonly<Record<string, Container>>;
    readonly links: readonly { readonly endpoints: readonly [string, string] }[];
  };
};
const containers = Object.entries(file.topology.nodes);
const nodes = ['node1', 'node2', 'node3'];
let lab: Lab;
let herald: HeraldInLab;
const routers: Router[] = [];

beforeAll(async () => {
  lab = await Lab.start(bareTopology());
  for (const [name, container] of containers) {
    const machine = lab.machine(name);
    if (container.image === '${FRR_IMAGE}') routers.push(await startRouter(name, container));
    for (const command of container.exec) await machine.exec(command.split(' ').map((word) => hostPath(container, word)));
    if (container.cmd?.startsWith('/lab/tools/') !== true) continue;
    const server = machine.spawn([process.execPath, ...container.cmd.split(' ').map((word) => hostPath(container, word))], { name: 'pod' });
    await server.waitForLine(/^listening$/);
  }
  herald = await HeraldInLab.prepare(lab, examples, ['10-cluster.yaml', '20-herald.yaml', '30-web.yaml']);
  await herald.prolongHoldTimes();
  await herald.start(nodes);
});

afterAll(async () => {
  await lab?.stop();
});

test('the routers accept their frr.conf without a complaint, and their sessions come up', async () => {
  expect(routers.map(({ name }) => name)).toEqual(['spine', 'tor1', 'tor2']);
  await sessionsUp(routers);
  for (const router of routers.slice(1)) {
    for (const family of [4, 6] as const) {
      const peers = await lab.until(`${router.name} has sessions with the spine and all nodes`, async (note) => {
        const { peers = {} } = note(
          await router.show<{ peers?: Record<string, { state: string }> }>(`show bgp ipv${family} unicast summary json`),
        );
        const addresses = Object.keys(peers).filter((address) => peers[address]?.state === 'Established');
        return addresses.filter((address) => address.includes(':') === (family === 6)).length === 4 && addresses;
      });
      expect(peers).toEqual(expect.arrayContaining(viaNodes(router.name, nodes, family === 6 ? ':' : '.')));
    }
  }
});

test('every pod answers the client, over both ToRs and in both families', async () => {
  const addresses = await herald.untilAssigned('shop/web', 2);
  for (const address of addresses) {
    for (const tor of ['tor1', 'tor2']) await untilNextHops(lab, tor, address, viaNodes(tor, nodes, address));
    await untilSpineRoutes(lab, address);
    const report = await lab.client.tcp({ address, port: 80, count: 60, parallel: 4 });
    expect(report.errors).toEqual({});
    expect(Object.keys(report.pods).toSorted()).toEqual(['web-1', 'web-2', 'web-3']);
  }
});

test('the Herald containers run the commands that this test runs', () => {
  const commands = Object.fromEntries(
    containers.filter(([, { image }]) => image === '${HERALD_IMAGE}').map(([name, { cmd }]) => [name, cmd]),
  );
  for (const node of nodes) expect(commands[node]).toBe(`agent --node ${node} --source /etc/herald`);
  expect(commands['control']).toBe('controller --source /etc/herald');
});

/** Returns a topology that has only links. The scripts of the containers configure everything else. */
function bareTopology(): Topology {
  const kindOf = (name: string): MachineSpec['kind'] => (nodes.includes(name) ? 'node' : 'control');
  const end = (text: string): LinkEnd => {
    const [machine = '', name = ''] = text.split(':');
    return { machine, interface: name };
  };
  return {
    machines: containers.map(([name]) => ({ name, kind: kindOf(name) })),
    links: file.topology.links.map(({ endpoints: [a, b] }) => [end(a), end(b)]),
    pods: [],
  };
}

/** Starts a router as the FRR images do: the daemons that are enabled, then `vtysh -b`. */
async function startRouter(name: string, { binds }: Container): Promise<Router> {
  const text = (path: string): string =>
    readFileSync(join(folder, binds.find((bind) => bind.includes(`:${path}`))?.split(':')[0] ?? ''), 'utf8');
  const asked = (['bgpd', 'bfdd'] as const).filter((daemon) => text('/etc/frr/daemons').includes(`\n${daemon}=yes\n`));
  const daemons: readonly FrrDaemon[] = ['zebra', ...asked, 'staticd'];
  const router = new Router(lab.id, name, new Map(daemons.map((daemon) => [daemon, ''])));
  await router.frr.prepare();
  const [, etc] = frrDirectories(router.namespace);
  const { uid, gid } = statSync(etc);
  for (const file of ['frr.conf', 'vtysh.conf']) {
    writeFileSync(join(etc, file), text(`/etc/frr/${file}`));
    chownSync(join(etc, file), uid, gid);
  }
  await router.frr.start();
  const { stdout, stderr } = await router.exec(['vtysh', '-N', router.namespace, '-b']);
  expect(`${stdout}${stderr}`).not.toMatch(/% |unknown|failed|error/i);
  return router;
}

/** Returns the path on this machine of a path inside a container. */
function hostPath({ binds }: Container, path: string): string {
  for (const bind of binds) {
    const [from = '', to = ''] = bind.split(':');
    if (path === to || path.startsWith(`${to}/`)) return join(folder, from) + path.slice(to.length);
  }
  return path;
}
