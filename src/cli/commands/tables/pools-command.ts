import { Option, type Command } from 'commander';
import { poolTable, type PoolTable } from '../../../explain/pools/pool-table.ts';
import { renderPools } from '../../../explain/pools/render-pools.ts';
import type { Environment } from '../../environment/environment.ts';
import { tableCommand, type TableOptions } from './table-command.ts';
import { unknownName } from '../../environment/unknown-name.ts';

interface Options extends TableOptions {
  readonly pool?: string;
}

export function poolsCommand(environment: Environment): Command {
  return tableCommand<Options, PoolTable>(environment, {
    command: 'pools',
    description: 'the IPAddressPools: addresses, how many are given and free, who announces them, and why Services wait',
    examples: [
      'herald pools                           in the cluster of $KUBECONFIG',
      'herald pools -o wide                   with the ranges, and why a pool gives no more',
      'herald pools --pool public --watch 10  looked at every ten seconds',
      'herald pools --source /etc/herald      a directory',
    ],
    options: [new Option('--pool <name>', 'this IPAddressPool alone')],
    data({ snapshot }, { pool }) {
      if (pool !== undefined && !snapshot.pools.has(pool)) throw unknownName('IPAddressPool', pool, snapshot.pools.keys());
      return poolTable(snapshot, pool);
    },
    lines: renderPools,
  });
}
