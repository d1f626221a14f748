import { once } from 'node:events';
import type { ChildProcess } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { reasonText, remedyText, type Reason } from '../../../src/model/reasons.ts';
import { until } from '../until.ts';
import { connect, endpoints, podBehindNode } from './pod-behind-node.ts';
import type { Report, TwoNodes } from './two-nodes.ts';

/** Faults that the agent of a node sees in its kernel. No client connects unless a test says so. */
let lab: TwoNodes;
let agent: ChildProcess;

/** The repair shows within this time, in milliseconds. */
const repairMilliseconds = 15_000;

beforeAll(async () => {
  lab = await podBehindNode();
  agent = await lab.startAgent('node1', { options: ['--kernel-settings', 'report'] });
  await lab.exec('node1', ['sysctl', '-qw', 'net.ipv4.ip_forward=1', 'net.ipv6.conf.all.forwarding=1']);
  await until('both families are forwarded', async (note) => {
    const made = note(await connect(lab));
    return made[4] > 0 && made[6] > 0;
  });
});

afterAll(async () => {
  await lab?.stop();
});

const failing = ({ checks }: Report): unknown[] =>
  (checks?.failing ?? []).map(({ family, areAll, reason }) => [family, areAll, said(reason)]);
const said = (because: Report['host'][number]): string => `${reasonText(because as Reason)}. ${remedyText(because as Reason)}`;

const untilFailing = (what: string, isWanted: (found: unknown[]) => boolean, milliseconds: number): Promise<unknown[]> =>
  until(
    what,
    async (note) => {
      const found = note(failing(await lab.report('node1')));
      return isWanted(found) ? found : undefined;
    },
    milliseconds,
  );

const node1 = async (...lines: string[]): Promise<void> => {
  for (const line of lines) await lab.exec('node1', line.split(' '));
};

describe('forwarding of the interface to a pod', () => {
  test('that is off for IPv4 is named without a connection, and the printed command makes clients be answered', async () => {
    await node1('sysctl -qw net.ipv4.conf.cali1.forwarding=0 net.ipv6.conf.cali1.forwarding=0');
    // IPv6 has one setting for all interfaces: the kernel forwards what comes in by one that is off.
    expect(await connect(lab)).toEqual({ 4: 0, 6: 3 });
    const remedy = 'sysctl -w net.ipv4.conf.cali1.forwarding=1';
    const why = 'cali1 drops what comes in by it, such as answers of endpoints, because net.ipv4.conf.cali1.forwarding is 0';
    const text = `there is no way to ${endpoints[4]}: ${why}. run on node "node1", and keep it for the next start: ${remedy}`;
    expect(await untilFailing('IPv4 fails', (found) => found.length > 0, 30_000)).toEqual([['IPv4', true, text]]);
    const { host } = await lab.report('node1');
    expect(host.filter(({ code }) => code === 'KernelSettingWrong').map(({ details }) => details['setting'])).toContain(
      'net.ipv4.conf.cali1.forwarding',
    );
    await node1(remedy);
    await untilFailing('nothing fails', (found) => found.length === 0, repairMilliseconds);
    expect(await connect(lab)).toEqual({ 4: 3, 6: 3 });
  });

  test('is corrected by an agent that may set it', async () => {
    const ended = once(agent, 'exit');
    agent.kill('SIGTERM');
    await ended;
    await node1('sysctl -qw net.ipv4.conf.cali1.forwarding=0');
    agent = await lab.startAgent('node1');
    await until('IPv4 is answered', async (note) => note(await connect(lab))[4] === 3, 30_000);
    await node1('sysctl -qw net.ipv4.conf.cali1.forwarding=0');
    await until('IPv4 is answered again', async (note) => note(await connect(lab))[4] === 3, repairMilliseconds);
  });
});
