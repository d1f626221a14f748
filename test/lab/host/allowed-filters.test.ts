import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { until } from '../until.ts';
import { labWithClientBackend, webUrls } from './client-backend.ts';
import type { TwoNodes } from './two-nodes.ts';

const program = join(import.meta.dirname, '../../../bin/herald');
let lab: TwoNodes;

beforeEach(async () => {
  lab = await labWithClientBackend();
});

afterEach(async () => {
  await lab?.stop();
});

const shell = async (script: string): Promise<string> => (await lab.exec('node1', ['sh', '-ec', script])).stdout;
const answers = async (milliseconds?: number): Promise<(number | undefined)[]> =>
  Promise.all(webUrls.map(async (url) => (await lab.get(url, milliseconds))?.status));
const untilAnswered = (): Promise<unknown> =>
  until('both families are answered', async (note) => note(await answers(1_000)).every((status) => status === 200));
const stopAgent = async (agent: ChildProcess): Promise<void> => {
  agent.kill('SIGTERM');
  if (agent.exitCode === null) await once(agent, 'exit');
};

interface Case {
  /** Loads the rules, and loads them again when they are there. */
  readonly load: string;
  /** Prints them. */
  readonly print: string;
}

const linesOfHerald = (text: string): number => text.split('\n').filter((line) => line.includes('HERALD-FORWARD')).length;

const nft = (text: string): string => `nft -f - <<'END'\n${text}\nEND`;
const both = (script: (tool: 'iptables' | 'ip6tables') => string): string => `${script('iptables')}\n${script('ip6tables')}`;
const printed = 'nft -s list ruleset | grep -v herald | sed -n "/table \\(inet hand\\|ip docker\\)/,/^}/p"';
/** Without counters, and without the chain that Herald removes. */
const printIptables = (suffix: string): string => both((tool) => `${tool}-${suffix} -t filter -S`);

const cases: Readonly<Record<string, Case>> = {
  'a hand-written table that is loaded with a flush': {
    load: nft(`table inet hand
flush table inet hand
table inet hand {
  chain forward { type filter hook forward priority 0; policy drop; ct state established,related accept; iifname "lo" accept; }
}`),
    print: printed,
  },
  'a hand-written table that rejects in the end': {
    load: nft(`table inet hand
delete table inet hand
table inet hand {
  chain known { ct state established accept; }
  chain passing { type filter hook forward priority filter - 1; policy accept; jump known; counter reject; }
}`),
    print: printed,
  },
  'iptables with policy DROP and a last REJECT': {
    load: both(
      (tool) =>
        `${tool}-nft -F FORWARD\n${tool}-nft -P FORWARD DROP\n${tool}-nft -A FORWARD -i lo -j ACCEPT\n${tool}-nft -A FORWARD -j REJECT`,
    ),
    print: printIptables('nft'),
  },
  'the older tables of iptables': {
    load: both((tool) => `${tool}-legacy -F FORWARD\n${tool}-legacy -P FORWARD DROP`),
    print: printIptables('legacy'),
  },
  'chains as of docker': {
    load: both(
      (tool) => `
${tool}-nft -P FORWARD DROP
${tool}-nft -N DOCKER-USER 2>/dev/null || true
${tool}-nft -N DOCKER-FORWARD 2>/dev/null || ${tool}-nft -F DOCKER-FORWARD
${tool}-nft -F FORWARD
${tool}-nft -A DOCKER-FORWARD -o docker0 -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
${tool}-nft -A DOCKER-FORWARD -i docker0 -j ACCEPT
${tool}-nft -A FORWARD -j DOCKER-USER
${tool}-nft -A FORWARD -j DOCKER-FORWARD`,
    ),
    print: printIptables('nft'),
  },
  'chains as of ufw': {
    load: both((tool) => {
      const of = tool === 'iptables' ? 'ufw' : 'ufw6';
      return `
${tool}-nft -P FORWARD DROP
for chain in before reject; do ${tool}-nft -N ${of}-$chain-forward 2>/dev/null || ${tool}-nft -F ${of}-$chain-forward; done
${tool}-nft -F FORWARD
${tool}-nft -A FORWARD -j ${of}-before-forward
${tool}-nft -A FORWARD -j ${of}-reject-forward
${tool}-nft -A ${of}-before-forward -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT`;
    }),
    print: printIptables('nft'),
  },
};

describe.each(Object.entries(cases))('%s', (_, { load, print }) => {
  test('--filters allow inserts rules, also after a reload, and an agent without it removes them', async () => {
    await shell(load);
    const before = await shell(print);
    const reporting = await lab.startAgent('node1');
    expect(await answers(1_500)).toEqual([undefined, undefined]);
    expect(await shell(print)).toBe(before);
    await stopAgent(reporting);

    const allowing = await lab.startAgent('node1', { options: ['--filters', 'allow'] });
    expect(await answers()).toEqual([200, 200]);
    await until('no filter is reported', async (note) =>
      note((await lab.report('node1')).host).every(({ code }) => code !== 'ForwardFilterDrops'),
    );
    const inserted = await shell(print);
    expect(inserted).toContain('HERALD-FORWARD');
    await shell(load);
    await untilAnswered();
    // The agent may look while the chains are made one by one, and then takes FORWARD in place of a chain that is not there yet.
    expect(linesOfHerald(await shell(print))).toBe(linesOfHerald(inserted));
    await stopAgent(allowing);
    // Like the tables of Herald, so that connections go on.
    expect(await answers()).toEqual([200, 200]);

    await lab.startAgent('node1');
    expect(await shell(print)).toBe(before);
    expect(await answers(1_500)).toEqual([undefined, undefined]);
  });
});

test('herald agent --cleanup removes the rules', async () => {
  const { load, print } = cases['chains as of docker'] ?? { load: '', print: '' };
  await shell(load);
  const before = await shell(print);
  await stopAgent(await lab.startAgent('node1', { options: ['--filters', 'allow'] }));
  expect(await shell(print)).not.toBe(before);
  await lab.exec('node1', [program, 'agent', '--cleanup']);
  expect(await shell(print)).toBe(before);
});
