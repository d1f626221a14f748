import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { untilNextHops, viaNodes } from '../routes.ts';
import type { Scene } from './chapters.ts';
import { officeManifests } from './office.ts';

/** Manifests that chapters add for a while. A chapter that failed may have left its own. */
const ofChapters = ['50-guest.yaml', '60-first.yaml', '61-second.yaml', officeManifests];
const nodes = ['node1', 'node2', 'node3'];

/** Makes the lab whole again after the last chapter: every agent runs, and only the Services of the examples are left. */
export async function completeLab({ lab, herald, reporter }: Scene): Promise<void> {
  for (const file of ofChapters) if (existsSync(join(herald.directory, file))) await herald.remove(file);
  await herald.startAgent('node1').waitForLine(/agent started/);
  for (const service of ['web', 'ledger'] as const) {
    // Service ledger has pods on two nodes only, and its policy is Local.
    const via = service === 'web' ? nodes : nodes.slice(0, 2);
    for (const address of (await herald.service('shop', service)).addresses)
      for (const tor of ['tor1', 'tor2']) await untilNextHops(lab, tor, address, viaNodes(tor, via, address));
  }
  reporter.check('the agent of node1 runs again, and both switches route to every node', true, '');
}

/** Prints commands that show something in the lab. They run in the directory of the repository. */
export async function explainLab({ lab, herald, reporter }: Scene): Promise<void> {
  const takeDown = await lab.keep();
  const within = (machine: string): string => `ip netns exec ${lab.machine(machine).namespace}`;
  const source = `--source ${herald.directory}`;
  const sockets = ['controller', ...nodes].map((of) => `--socket ${herald.socket(of)}`).join(' ');
  const [address = ''] = (await herald.service('shop', 'web')).addresses;
  const tor1 = lab.machine('tor1').namespace;
  reporter.say(`the lab ${lab.id} is still running. Try, in this directory:`);
  reporter.quote([
    `bin/herald status ${source}`,
    `bin/herald explain service shop/web ${source}`,
    `bin/herald routes --service web -n shop ${source}`,
    `bin/herald history service shop/web ${source} ${sockets}`,
    `bin/herald drain node3 --dry-run ${source}`,
    `${within('tor1')} vtysh -N ${tor1} -c 'show bgp summary'`,
    `${within('client')} node_modules/.bin/node test/lab/client-program.ts tcp ${address} 80`,
    `${within('node1')} nft list table ip herald`,
  ]);
  reporter.say('to change something, edit a manifest and look again:');
  reporter.quote([`ls ${herald.directory}`]);
  reporter.say('to take it down:');
  reporter.quote([takeDown]);
}
