import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { NftablesDataplane } from '../../src/dataplane/nftables/nftables.ts';
import { machinePorts } from '../../src/dataplane/nftables/ports.ts';
import { namespaceNamed } from '../support/namespace-named.ts';
import type { Family } from '../../src/net/address.ts';
import type { Frontend, Protocol } from '../../src/net/frontend.ts';
import { prefix } from '../../src/net/prefix.ts';
import { systemClock } from '../../src/system/clock.ts';
import { silentLog } from '../../src/system/log.ts';
import { backends, frontend, frontendKinds, node, target, type FrontendKind, type Pod } from './dataplane/any-frontend.ts';
import {
  shortTimeout,
  clientAddress,
  inside,
  namespaceOf,
  OneNode,
  podAddress,
  podPort,
  type Machine,
  type Request,
} from './dataplane/one-node.ts';
import { patience } from './until.ts';

/** Changes that Kubernetes' end-to-end tests of Services make while clients send requests, and the answers that those clients must get. */
const families: readonly Family[] = [4, 6];
const raw = fileURLToPath(new URL('dataplane/raw.mjs', import.meta.url));

/** An expected answer, and the milliseconds to wait for it. */
interface ExpectedAnswer {
  readonly answer: RegExp;
  readonly timeout?: number;
}

/** The kernel deletes flows with some delay. */
const eventually = { timeout: patience } as const;

let lab: OneNode;
let dataplane: NftablesDataplane;

beforeAll(async () => {
  lab = await OneNode.start();
  for (const machine of ['client', 'pod1'] as const) {
    inside(machine, 'nft add table inet seen', 'nft add chain inet seen arriving { type filter hook prerouting priority -400 ; }');
    inside(machine, 'nft add chain inet seen leaving { type filter hook output priority -400 ; }');
    for (const [chain, rule] of [
      ['arriving', 'tcp flags & rst == rst'],
      ['arriving', 'meta l4proto icmp'],
      ['arriving', 'meta l4proto ipv6-icmp icmpv6 type destination-unreachable'],
    ] as const)
      inside(machine, `nft add rule inet seen ${chain} ${rule} counter`);
  }
  dataplane = new NftablesDataplane(machinePorts(systemClock, silentLog, { own: true, namespace: namespaceNamed(namespaceOf('node')) }));
  await dataplane.replace(node, new Map());
});

afterEach(async () => {
  await dataplane.apply(
    new Map([
      ['web', undefined],
      ['other', undefined],
    ]),
  );
  inside('node', 'conntrack -F');
});

afterAll(async () => {
  await dataplane?.close();
  lab?.stop();
});

const serve = async (...frontends: readonly Frontend[]): Promise<void> => {
  const { quarantined } = await dataplane.apply(new Map([['web', { frontends }]]));
  expect([...quarantined]).toEqual([]);
};

/** Returns the distinct answers: "pod1", "pod1:9090", "ECONNREFUSED", "TIMEOUT". */
async function ask(
  from: Machine,
  kind: FrontendKind,
  family: Family,
  protocol: Protocol,
  count: number,
  more: Pick<Request, 'localPort' | 'timeout'> = {},
): Promise<string> {
  const { counts } = await lab.request(from, { protocol, ...target(kind, family), count, ...more });
  return Object.keys(counts).toSorted().join();
}

/** Returns the number of packets that a rule of `beforeAll` counted. */
function seen(machine: Machine, chain: 'arriving' | 'leaving', rule: string): number {
  const lines = inside(machine, `nft list chain inet seen ${chain}`).split('\n');
  return Number(/packets (\d+)/.exec(lines.find((line) => line.includes(rule)) ?? '')?.[1]);
}

describe.each(families)('IPv%i', (family) => {
  describe.each(frontendKinds)('a UDP client of a %s that keeps its port', (kind) => {
    const askers: readonly Machine[] = kind === 'ClusterIP' ? ['client', 'pod2', 'node'] : ['client', 'node'];
    const refused = /^(ECONNREFUSED|EPERM)$/;

    test.each(askers)('from the %s: it follows new pods and target ports, and is refused while there is no pod', async (from) => {
      const web = (...pods: readonly Pod[]): Promise<void> => serve(frontend(kind, family, 'UDP', pods));
      const meets = async (what: RegExp): Promise<void> => {
        await expect.poll(() => ask(from, kind, family, 'UDP', 1, { localPort: 54_321 }), eventually).toMatch(what);
      };
      await web(1);
      await meets(/^pod1$/);
      await web(3);
      await meets(/^pod3$/);
      await web(13);
      await meets(/^pod3:9090$/);
      await web();
      await meets(refused);
      await web(1);
      await meets(/^pod1$/);
    });
  });

  test("a UDP client under internalTrafficPolicy Local moves with the node's pod", async () => {
    const web = (...pods: readonly Pod[]): Promise<void> =>
      serve(frontend('ClusterIP', family, 'UDP', [3, ...pods], { policy: 'Local', localBackends: backends(family, ...pods) }));
    await web(1);
    expect(await ask('pod2', 'ClusterIP', family, 'UDP', 1, { localPort: 54_322 })).toBe('pod1');
    await web(2);
    await expect.poll(() => ask('pod1', 'ClusterIP', family, 'UDP', 1, { localPort: 54_322 }), eventually).toBe('pod2');
    await expect.poll(() => ask('pod2', 'ClusterIP', family, 'UDP', 1, { localPort: 54_322 }), eventually).toBe('pod2');
  });

  test.each(frontendKinds)('a %s without endpoints answers twenty connections with twenty resets and no ICMP', async (kind) => {
    await serve(frontend(kind, family, 'TCP', []));
    for (const from of ['client', 'pod1'] as const) {
      const counts = (): number[] => [
        seen(from, 'arriving', 'tcp flags'),
        seen(from, 'arriving', family === 4 ? 'meta l4proto icmp' : 'destination-unreachable'),
      ];
      const [resets = 0, errors = 0] = counts();
      expect((await lab.request(from, { protocol: 'TCP', ...target(kind, family), count: 20 })).counts).toEqual({ ECONNREFUSED: 20 });
      const [resetsNow = 0, errorsNow] = counts();
      // There are more resets if the kernel was so slow that the client tried again.
      expect([from, resetsNow >= resets + 20, errorsNow]).toEqual([from, true, errors]);
    }
  });

  test('a connection that begins before its Service exists is answered once it does', async () => {
    const { address, port } = target('LoadBalancer', family);
    // The kernel sends the SYN again after 1, 3 and 7 seconds. The first ones are lost.
    const early = lab.request('client', { protocol: 'TCP', address, port, timeout: 60_000 });
    const flow = (): string => inside('node', `conntrack -L -f ipv${family} -p tcp --orig-dst ${address}`);
    await expect.poll(flow, eventually).toContain('[UNREPLIED]');
    await serve(frontend('LoadBalancer', family, 'TCP', [1]));
    expect((await early).counts).toEqual({ pod1: 1 });
  });

  test('a port that is added or removed does not affect other ports', async () => {
    const [tcp, udp] = (['TCP', 'UDP'] as const).map((protocol) => frontend('LoadBalancer', family, protocol, [1]));
    if (tcp === undefined || udp === undefined) throw new Error('no frontend');
    const [served, absent] = [{ answer: /^pod1$/ }, { answer: /^(TIMEOUT|EHOSTUNREACH)$/, timeout: shortTimeout }];
    const meets = async (overTcp: ExpectedAnswer, overUdp: ExpectedAnswer): Promise<void> => {
      await expect.poll(() => ask('client', 'LoadBalancer', family, 'UDP', 1, overUdp), eventually).toMatch(overUdp.answer);
      expect(await ask('client', 'LoadBalancer', family, 'TCP', 4, overTcp)).toMatch(overTcp.answer);
    };
    await serve(tcp, udp);
    await meets(served, served);
    await serve(tcp);
    await meets(served, absent);
    await serve(udp);
    await meets(absent, served);
  });

  test('a Service that is added, removed or recreated does not affect other Services', async () => {
    const web = frontend('LoadBalancer', family, 'TCP', [1]);
    const other = frontend('NodePort', family, 'TCP', [2]);
    const again = frontend('ClusterIP', family, 'TCP', [1]);
    const meets = async (...expected: readonly [FrontendKind, string][]): Promise<void> => {
      for (const [kind, answer] of expected) expect([kind, await ask('client', kind, family, 'TCP', 2)]).toEqual([kind, answer]);
    };
    await dataplane.apply(
      new Map([
        ['web', { frontends: [web] }],
        ['other', { frontends: [other] }],
      ]),
    );
    await meets(['LoadBalancer', 'pod1'], ['NodePort', 'pod2']);
    await dataplane.apply(new Map([['web', undefined]]));
    await meets(['NodePort', 'pod2']);
    expect(await ask('client', 'LoadBalancer', family, 'TCP', 1, { timeout: shortTimeout })).not.toContain('pod');
    await dataplane.apply(new Map([['web', { frontends: [again] }]]));
    await meets(['ClusterIP', 'pod1'], ['NodePort', 'pod2']);
    await dataplane.apply(new Map([['other', undefined]]));
    await meets(['ClusterIP', 'pod1'], ['NodePort', 'ECONNREFUSED']);
  });

  test('frontends refuse, serve and refuse as endpoints come and go', async () => {
    for (const pods of [[], [3], [], [1, 2]] as const) {
      await serve(...frontendKinds.map((kind) => frontend(kind, family, 'TCP', pods)));
      for (const kind of frontendKinds)
        expect(await ask('client', kind, family, 'TCP', 20)).toBe(pods.map((pod) => `pod${pod}`).join() || 'ECONNREFUSED');
    }
  });

  test.each(frontendKinds)('session affinity of a %s can be turned on, off and on', async (kind) => {
    for (const affinity of [{ seconds: 10_800, servicePort: 'web' }, undefined, { seconds: 10_800, servicePort: 'web' }]) {
      await serve(frontend(kind, family, 'TCP', [1, 2, 3], affinity === undefined ? {} : { affinity }));
      const { counts } = await lab.request('client', { protocol: 'TCP', ...target(kind, family), count: 30 });
      expect(Object.keys(counts).every((who) => who.startsWith('pod'))).toBe(true);
      expect(Object.keys(counts).length > 1).toBe(affinity === undefined);
    }
  });

  test('two half ranges admit all clients, an unused address none, and no ranges all', async () => {
    const ranges =
      family === 4
        ? { halves: ['0.0.0.0/1', '128.0.0.0/1'], nobody: ['255.0.0.0/32'] }
        : { halves: ['::/1', '8000::/1'], nobody: ['ff00::/128'] };
    const allows = async (sourceRanges: readonly string[] | undefined, answer: string): Promise<void> => {
      const guarded = sourceRanges === undefined ? {} : { sourceRanges: sourceRanges.map(prefix) };
      await serve(frontend('LoadBalancer', family, 'TCP', [1], guarded));
      for (const from of ['client', 'pod2', 'node'] as const)
        expect([from, await ask(from, 'LoadBalancer', family, 'TCP', 1, answer === 'TIMEOUT' ? { timeout: shortTimeout } : {})]).toEqual([
          from,
          answer,
        ]);
    };
    await allows(ranges.halves, 'pod1');
    await allows(ranges.nobody, 'TIMEOUT');
    await allows(undefined, 'pod1');
  });

  test.each([0, 1])('an out-of-window packet does not end a connection (be_liberal=%i, kubernetes/kubernetes#74839)', async (liberal) => {
    inside('node', `sysctl -qw net.netfilter.nf_conntrack_tcp_be_liberal=${liberal}`);
    await serve(frontend('LoadBalancer', family, 'TCP', [1], { policy: 'Local', localBackends: backends(family, 1) }));
    const { address, port } = target('LoadBalancer', family);
    const connection = await lab.connection('client', address, port);
    const flow = inside('node', `conntrack -L -f ipv${family} -p tcp --orig-dst ${address} --state ESTABLISHED`);
    const clientPort = Number(/sport=(\d+) dport=80/.exec(flow)?.[1]);
    inside('client', `nft add rule inet seen arriving tcp dport ${clientPort} tcp flags & rst == rst counter`);
    inside('client', `nft add rule inet seen leaving tcp sport ${clientPort} tcp flags & rst == rst counter`);
    const packet = {
      kind: 'TCP out of window',
      source: podAddress(family, 1),
      destination: clientAddress(family),
      sourcePorts: [podPort, podPort, podPort],
      port: clientPort,
    };
    execFileSync('ip', ['netns', 'exec', namespaceOf('pod1'), process.execPath, raw, JSON.stringify(packet)]);
    await new Promise((resolve) => setTimeout(resolve, 300));
    // A client that sees the pod's own address as source answers with a reset.
    expect([seen('client', 'arriving', `tcp dport ${clientPort}`), seen('client', 'leaving', `tcp sport ${clientPort}`)]).toEqual([0, 0]);
    expect(await connection.end()).toMatchObject({ failure: '' });
  });
});
