import { ingressTable } from '../../../src/dataplane/direct-return/ingress-script.ts';
import { ipPaths } from '../../../src/dataplane/direct-return/ip-paths.ts';
import { nftIngress } from '../../../src/dataplane/direct-return/nft-ingress.ts';
import type { NftablesPorts } from '../../../src/dataplane/nftables/nftables.ts';
import { tunnelPrefix } from '../../../src/dataplane/ruleset/direct-return-identity.ts';
import { runCommand, type CommandOutcome } from '../../../src/dataplane/run-command.ts';
import type { Clock } from '../../../src/system/clock.ts';
import type { Log } from '../../../src/system/log.ts';
import { commandBounds } from './command-bounds.ts';
import { conntrackCommand } from './conntrack-command.ts';
import { ipCommand } from './ip-command.ts';
import { nftCommand } from './nft-command.ts';

/**
 * Returns the ports that use the commands nft, ip and conntrack, found in PATH: the oracle for those of `machinePorts`, which use netlink.
 * `commandPrefix`, such as ['ip', 'netns', 'exec', 'node1'], goes before each command.
 */
export function commandPorts(clock: Clock, log: Log, commandPrefix: readonly string[] = []): NftablesPorts {
  const run = (...words: readonly string[]): Promise<CommandOutcome> => {
    const [first = '', ...others] = [...commandPrefix, ...words];
    return runCommand([first, ...others], '', commandBounds);
  };
  return {
    executor: nftCommand(commandPrefix),
    routes: ipCommand(commandPrefix),
    conntrack: conntrackCommand(commandPrefix),
    paths: {
      ...ipPaths(commandPrefix),
      async hasTunnel() {
        const { status, stdout, stderr } = await run('ip', '-o', 'link', 'show', 'type', 'vxlan');
        if (status !== 0) throw new Error(stderr);
        return stdout.includes(`: ${tunnelPrefix}`);
      },
    },
    ingress: {
      ...nftIngress(commandPrefix),
      async exists() {
        // For "list tables", nft would first read every element of every table.
        const { status, stderr } = await run('nft', '-t', 'list', 'table', ...ingressTable.split(' '));
        if (status !== 0 && !/No such file or directory/.test(stderr)) throw new Error(stderr);
        return status === 0;
      },
    },
    clock,
    log,
  };
}
