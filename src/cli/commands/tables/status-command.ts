import { Option, type Command } from 'commander';
import { defined } from '../../../lang/defined.ts';
import { overviewOf, type Overview } from '../../../explain/overview/overview.ts';
import { renderOverview } from '../../../explain/overview/render-overview.ts';
import { defaultNamespace } from '../../options/shared-options.ts';
import type { CommandContext } from '../../context/command-context.ts';
import { currentConditions } from './current-conditions.ts';
import { tableCommand, type TableOptions } from './table-command.ts';
import { unhealthyObjects } from './unhealthy-objects.ts';

interface Options extends TableOptions {
  readonly leaderElectNamespace?: string;
}

export function statusCommand(context: CommandContext): Command {
  return tableCommand<Options, Overview>(context, {
    command: 'status',
    description: 'show the state of everything on one screen: controller, nodes, sessions, Services by condition and reason, pools',
    examples: [
      'herald status                      in the cluster of $KUBECONFIG',
      'herald status --watch',
      'herald status -o wide              with all names, where a few are listed otherwise',
      'herald status --source /etc/herald a directory',
    ],
    options: [
      new Option('--leader-elect-namespace <name>', `namespace of the Lease of the controllers (default: ${defaultNamespace})`).conflicts([
        'source',
        'file',
      ]),
    ],
    async data(reading, { leaderElectNamespace: namespace = defaultNamespace }) {
      const { snapshot, now } = reading;
      const controller = await reading.leadership(namespace);
      const conditions = await currentConditions(reading);
      return overviewOf({
        snapshot,
        now,
        conditions,
        objects: unhealthyObjects(reading),
        ...defined({ controller }),
      });
    },
    lines: renderOverview,
  });
}
