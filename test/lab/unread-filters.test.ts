import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { explain, firstLine, problems } from './diagnosis/faces.ts';
import { fabricOf } from './diagnosis/fabric.ts';
import type { Scene } from './diagnosis/misconfiguration.ts';
import { healthy } from './diagnosis/objects.ts';
import { placeOf, poolAddresses } from './diagnosis/place.ts';
import { startStage, yamlOf } from './diagnosis/stage.ts';

/** What a node cannot judge, beside connections that are absent, answered, and lost. */
const nodes = ['node1', 'node2'];
const place = placeOf('unread', 1);
const service = 'unread/web';
const repairMilliseconds = 15_000;
let scene: Scene;

beforeAll(async () => {
  scene = await startStage([], { nodes, fabric: fabricOf(nodes, { services: 'all' }) });
  await scene.herald.write('unread.yaml', yamlOf(healthy(place)));
  await untilLine('it is announced', /^Announced, not checked/);
});

afterAll(async () => {
  await scene?.lab.stop();
});

/** Connects to both addresses, and returns how many connections were answered of each family. */
async function connect(): Promise<readonly number[]> {
  const reports = await Promise.all(
    poolAddresses(place, 1).map((address) => scene.lab.client.tcp({ address, port: 80, count: 8, parallel: 8, timeoutMs: 800 })),
  );
  return reports.map(({ failed }) => 8 - failed);
}

const line = async (): Promise<string> => (await explain(scene, service)).verdict.line;
const untilLine = (what: string, wanted: RegExp, milliseconds = 60_000, send = () => Promise.resolve<unknown>(undefined)) =>
  scene.lab.until(
    what,
    async (note) => {
      await send();
      return wanted.test(note(await line()));
    },
    milliseconds,
  );
const onNodes = (...commands: readonly (readonly string[])[]): Promise<unknown> =>
  Promise.all(
    nodes.map(async (node) => {
      for (const command of commands) await scene.lab.node(node).exec(command);
    }),
  );
const words = (text: string): string[] => text.split(' ');

/** Drops packets to pods, or none of them, by a condition that Herald does not judge. */
const odd = (mark: string): readonly string[] => {
  const rules = ['ip daddr 10.244.0.0/16', 'ip6 daddr fd00:244::/32'].map((to) => `${to} meta mark ${mark} drop;`);
  return [
    'nft',
    `table inet odd; flush table inet odd; table inet odd { chain c { type filter hook forward priority 0; ${rules.join(' ')} }; }`,
  ];
};

test('a filter of tc on an uplink is a hint while nobody has connected', async () => {
  await onNodes(words('tc qdisc add dev tor1 clsact'), [...words('tc filter add dev tor1 ingress bpf bytecode'), '1,6 0 0 0,']);
  const text = 'a tc filter (bpf) at ingress is attached to tor1, and Herald cannot read what is dropped there';
  await untilLine('the filter is a hint', /Perhaps clients get no answer: a tc filter/);
  expect(await firstLine(scene, service)).toContain(`Perhaps clients get no answer: ${text}`);
  const rows = (await problems(scene)).problems.filter(({ code }) => code === 'TrafficFilterUnread');
  expect(rows).toMatchObject([{ object: 'Node/node1', others: ['Node/node2'] }]);
  const remedy = 'tc qdisc del dev tor1 clsact';
  expect(await line()).toContain(remedy);
  await onNodes(words(remedy));
  await untilLine('nothing is a hint', /^(?!.*Perhaps)/, repairMilliseconds);
});

describe('a rule that cannot be judged', () => {
  test('is a hint while nobody has connected, and none when clients are answered', async () => {
    await onNodes(odd('0x77'));
    const hint =
      /^Announced, not checked: .*Perhaps clients get no answer: since \S+Z it is not decided whether chain c of table inet odd lets/;
    await untilLine('the rule is a hint', hint);
    expect(await connect()).toEqual([8, 8]);
    await untilLine('clients are answered', /^Served: (?!.*Perhaps)/, 60_000, connect);
  });

  test('that changes: answers from before the change no longer count', async () => {
    await onNodes(odd('!= 0x77'));
    await untilLine(
      'it is not known whether clients are answered',
      /^Announced, not checked: .*Perhaps clients get no answer: since \S+Z /,
      30_000,
    );
    expect(await connect()).toEqual([0, 0]);
    await onNodes(words('nft delete table inet odd'));
    expect(await connect()).toEqual([8, 8]);
    await untilLine('clients are answered again', /^Served: (?!.*Perhaps)/, 60_000, connect);
  });
});

test('forwarding that is off on one of two uplinks is said beside the answers of others', async () => {
  await scene.herald.agent('node1').stop();
  const agent = scene.herald.startAgent('node1', '--kernel-settings', 'report');
  await agent.waitForLine(/agent started/);
  const node1 = scene.lab.node('node1');
  await node1.exec(words('sysctl -qw net.ipv4.conf.tor2.forwarding=0'));
  const hint =
    /^Served: .* Perhaps not those of all clients: net\.ipv4\.conf\.tor2\.forwarding is 0 and should be 1: the node drops what comes in by tor2 .*\(on node1\)/;
  await untilLine('the uplink is named', hint, 60_000, connect);
  const remedy = 'sysctl -w net.ipv4.conf.tor2.forwarding=1';
  expect(await line()).toContain(remedy);
  await node1.exec(words(remedy));
  await untilLine('nothing is a hint', /^(?!.*Perhaps)/, repairMilliseconds, connect);
  expect(await connect()).toEqual([8, 8]);
});
