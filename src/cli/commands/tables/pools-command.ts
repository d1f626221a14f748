import { Option, type Command } from 'commander';
import { defined } from '../../../lang/defined.ts';
import { allocatorOf } from '../../../explain/pools/allocation.ts';
import { poolReport, type PoolReport } from '../../../explain/pools/pool-report.ts';
import { renderPools } from '../../../explain/pools/render-pools.ts';
import type { CommandContext } from '../../context/command-context.ts';
import { scopeOptions, selectedNames, type ScopeOptions } from '../../options/selector-option.ts';
import { keptNow } from '../../reading/reading.ts';
import { tableCommand, type TableOptions } from './table-command.ts';
import { requireRead, unknownNameError } from '../../context/unknown-name.ts';

interface Options extends TableOptions, ScopeOptions {
  readonly pool?: string;
}

export function poolsCommand(context: CommandContext): Command {
  return tableCommand<Options, PoolReport>(context, {
    command: 'pools',
    alias: 'pool',
    description: 'show the IPAddressPools: addresses, how many are given and free, their BGPAdvertisements, and why Services wait',
    examples: [
      'herald pools                           in the cluster of $KUBECONFIG',
      'herald pools -o wide                   with the ranges, and why a pool gives no more',
      'herald pools --pool public --watch 10  read again every ten seconds',
      'herald pools --source /etc/herald      a directory',
    ],
    options: [new Option('--pool <name>', 'this IPAddressPool alone'), ...scopeOptions('IPAddressPool')],
    async data(reading, options) {
      const { pool } = options;
      const { snapshot, unread } = reading;
      if (pool !== undefined && !snapshot.pools.has(pool)) requireRead('IPAddressPool', pool, unread);
      if (pool !== undefined && !snapshot.pools.has(pool)) throw unknownNameError('IPAddressPool', pool, snapshot.pools.keys());
      const allocator = allocatorOf(snapshot, await keptNow(reading));
      const { pools, waiting } = poolReport(snapshot, { allocator, ...defined({ pool }) });
      const selected = selectedNames(options, 'IPAddressPool', snapshot.pools);
      return { pools: pools.filter((row) => selected.has(row.pool)), waiting };
    },
    names: ({ pools }) => pools.map(({ pool }) => `ipaddresspool/${pool}`),
    needs: ['IPAddressPool'],
    lines: renderPools,
  });
}
