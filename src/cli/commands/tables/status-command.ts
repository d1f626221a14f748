import { Option, type Command } from 'commander';
import { defined } from '../../../lang/defined.ts';
import type { Overview } from '../../../explain/overview/overview.ts';
import { allocatorOf } from '../../../explain/pools/allocation.ts';
import type { Problem } from '../../../explain/overview/problem.ts';
import { renderOverview } from '../../../explain/overview/render-overview.ts';
import { kindsOfProblems, renderProblems } from '../../../explain/overview/render-problems.ts';
import { scopeOptions, selectedNames, type ScopeOptions } from '../../options/selector-option.ts';
import { defaultNamespace } from '../../options/shared-options.ts';
import type { CommandContext } from '../../context/command-context.ts';
import { askedView } from '../../reading/query-nodes.ts';
import { keptNow } from '../../reading/reading.ts';
import { conditionsOf, currentConditions, currentStates } from './current-conditions.ts';
import { readOverview, readProblems, refusedBy, unwrittenBy } from './status-facts.ts';
import { tableCommand, type TableOptions } from './table-command.ts';

interface Options extends TableOptions, ScopeOptions {
  readonly leaderElectNamespace?: string;
  readonly problems?: boolean;
}

/** The exit status of `herald status --problems` when there are any. */
const hasProblems = 3;

export function statusCommand(context: CommandContext): Command {
  return tableCommand<Options, Overview | { readonly problems: readonly Problem[] }>(context, {
    command: 'status',
    description:
      'show the state of everything on one screen: controller, nodes, sessions, Services by condition and reason, pools (with --problems: exit status 0: there are none, 3: there are some)',
    examples: [
      'herald status                      in the cluster of $KUBECONFIG',
      'herald status --watch',
      'herald status -n shop -l app=web   of the Services, only these',
      'herald status -o wide              with all names, where a few are listed otherwise',
      'herald status --problems           one line for each problem, with its cause and the fix',
      'herald status --source /etc/herald a directory',
    ],
    options: [
      new Option('--problems', 'show only problems, each once, with its cause and the fix; exit status 3 if there are any, 0 if none'),
      new Option('--leader-elect-namespace <name>', `namespace of the Lease of the controllers (default: ${defaultNamespace})`).conflicts([
        'source',
        'file',
      ]),
      ...scopeOptions('Service'),
    ],
    async data(read, options) {
      const { snapshot, live, processes } = await askedView(context, options, read, { of: ['agent', 'controller'] });
      const reading = { ...read, snapshot };
      const allocator = allocatorOf(snapshot, await keptNow(reading));
      const selected = selectedNames(options, 'Service', snapshot.services);
      const known = { live, allocator, selected, ...defined({ unwritten: unwrittenBy(processes), refused: refusedBy(processes) }) };
      if (options.problems !== true) return readOverview(reading, options, await currentConditions(reading, { allocator }), known);
      const all = await currentStates(reading, { allocator });
      const states = new Map([...all].filter(([key]) => selected.has(key)));
      const overview = await readOverview(reading, options, conditionsOf(states), known);
      const problems = readProblems(reading, states, overview, known);
      context.setExitStatus(problems.length === 0 ? 0 : hasProblems);
      return { problems };
    },
    names: (data) => namesOf(data),
    needs: kindsOfProblems,
    lines: (data, wide, unread) => ('problems' in data ? renderProblems(data, wide, unread) : renderOverview(data, wide, unread)),
  });
}

/** Names what has a problem, and else what the overview counts as other than it should be. */
function namesOf(data: Overview | { readonly problems: readonly Problem[] }): readonly string[] {
  if ('problems' in data) return data.problems.flatMap(({ object, others = [] }) => [object, ...others]).map(lowerKind);
  const unlike = data.services.conditions.filter(({ status }) => status !== 'True').flatMap(({ services }) => services);
  return [
    ...data.nodes.troubled.map(({ node }) => `node/${node}`),
    ...data.objects.map(({ object }) => lowerKind(object)),
    ...unlike.map((service) => `service/${service}`),
  ];
}

const lowerKind = (object: string): string => object.replace(/^[^/]+/, (kind) => kind.toLowerCase());
