import { execFile, execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { NftablesDataplane } from '../../src/dataplane/nftables/nftables.ts';
import { machinePorts } from '../../src/dataplane/nftables/ports.ts';
import { namespaceNamed } from '../support/namespace-named.ts';
import { receivedNetlink } from '../../src/dataplane/received-routes/received-netlink.ts';
import { address } from '../../src/net/address.ts';
import { prefix } from '../../src/net/prefix.ts';
import { systemClock } from '../../src/system/clock.ts';
import { silentLog } from '../../src/system/log.ts';

const namespace = `hd-${process.pid}-cleanup`;
const ip = (...args: readonly string[]): string => execFileSync('ip', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
const inside = (...command: readonly string[]): string => ip('netns', 'exec', namespace, ...command);

function cleanup(): Promise<{ readonly code: number; readonly stdout: string; readonly stderr: string }> {
  const main = join(import.meta.dirname, '../../src/cli/main.ts');
  return new Promise((resolve) => {
    execFile('ip', ['netns', 'exec', namespace, process.execPath, main, 'agent', '--cleanup'], (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
    });
  });
}

/** Counts Herald's tables, routes and rules in the kernel, of both families; `received`: routes and rules of received routes. */
function present(): { tables: number; routes: number; rules: number; received: number } {
  const lines = (text: string): number => text.split('\n').filter((line) => line.trim() !== '').length;
  const ofBoth = (count: (family: string) => number): number => count('-4') + count('-6');
  return {
    tables: lines(inside('nft', 'list', 'tables')),
    routes: ofBoth((family) => lines(inside('ip', family, 'route', 'show', 'table', 'all', 'proto', '152'))),
    rules: ofBoth((family) => lines(inside('ip', '-N', family, 'rule', 'show', 'pref', '32152'))),
    received:
      ofBoth((family) => lines(inside('ip', family, 'route', 'show', 'table', 'all', 'proto', '153'))) +
      ofBoth(
        (family) =>
          inside('ip', '-N', family, 'rule', 'show')
            .split('\n')
            .filter((line) => line.endsWith('proto 153')).length,
      ),
  };
}

beforeAll(() => {
  ip('netns', 'add', namespace);
  inside('ip', 'link', 'set', 'lo', 'up');
});

afterAll(() => {
  ip('netns', 'del', namespace);
});

test('--cleanup removes the state of a stopped agent, and refuses while an agent runs', async () => {
  const dataplane = new NftablesDataplane(machinePorts(systemClock, silentLog, { own: true, namespace: namespaceNamed(namespace) }));
  const frontends = ['192.0.2.1', '2001:db8::1'].map((text) => ({
    match: { kind: 'address', address: address(text), protocol: 'TCP', port: 80 } as const,
    scope: 'external' as const,
    policy: 'Cluster' as const,
    backends: [],
    localBackends: [],
  }));
  const node = { nodePortAddresses: [], podPrefixes: [], servicePrefixes: [], masqueradeBit: 14 };
  await dataplane.replace(node, new Map([['shop/web', { frontends }]]));
  await dataplane.setUnreachable([prefix('192.0.2.0/24'), prefix('2001:db8::/64')]);
  const received = receivedNetlink(systemClock, `/run/netns/${namespace}`);
  await received?.change(
    ['192.0.2.9/32', '2001:db8::9/128'].map((text) => ({ prefix: prefix(text), hops: [] })),
    [],
  );
  received?.close();
  const all = present();
  expect(all).toEqual({ tables: 2, routes: 2, rules: 2, received: 6 });

  const early = await cleanup();
  expect([early.code, early.stderr]).toEqual([3, expect.stringContaining('stop the agent first')]);
  expect(present()).toEqual(all);

  await dataplane.close();
  expect(present()).toEqual(all);
  expect(await cleanup()).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('the kernel of this node has no tables, routes, rules or tunnels of Herald any more'),
  });
  expect(present()).toEqual({ tables: 0, routes: 0, rules: 0, received: 0 });
  expect((await cleanup()).code).toBe(0);
});
