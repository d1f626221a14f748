import { Argument, type Command } from 'commander';
import { endpointReport, type EndpointReport } from '../../../explain/endpoints/endpoint-report.ts';
import { renderEndpoints } from '../../../explain/endpoints/render-endpoints.ts';
import type { ServiceKey } from '../../../model/objects/metadata.ts';
import type { Snapshot } from '../../../model/store/snapshot.ts';
import { UsageError, type CommandContext } from '../../context/command-context.ts';
import { exitStatus } from '../../context/exit-status.ts';
import { requireRead, unknownNameError } from '../../context/unknown-name.ts';
import { scopeOptions, selectedNames, type ScopeOptions } from '../../options/selector-option.ts';
import { askedView } from '../../reading/query-nodes.ts';
import { callerService } from '../../storage/caller-connection.ts';
import { nodeOption, requireKnownNames, type NameOptions } from './node-peer-options.ts';
import { tableCommand, type TableOptions } from './table-command.ts';

interface Options extends TableOptions, NameOptions, ScopeOptions {}

export function endpointsCommand(context: CommandContext): Command {
  return tableCommand<Options, EndpointReport>(context, {
    command: 'endpoints',
    alias: 'endpoint',
    description:
      'show the endpoints of a Service as ipvsadm -Ln does: scheduler, weight, state, and the connections and packets that nodes translate to each at this moment',
    examples: [
      'herald endpoints shop/web                        in the cluster of $KUBECONFIG, sums over all nodes',
      'herald endpoints shop/web -o wide --watch 1      with a row for each node, again whenever it changes',
      'herald endpoints -n shop --node node1            every Service of a namespace, connections of one node',
      'herald endpoints -A --source /etc/herald         every Service of a directory',
    ],
    argument: new Argument('[namespace/name]', 'the Service'),
    options: [nodeOption(), ...scopeOptions('Service')],
    async data({ snapshot, now, unread }, options, name) {
      const { node } = options;
      requireKnownNames({ snapshot, unread }, options);
      const service = name === undefined ? undefined : await callerService(context, name, options);
      if (service !== undefined && !snapshot.services.has(service)) requireRead('Service', service, unread);
      if (service !== undefined && !snapshot.services.has(service)) throw unknownNameError('Service', service, snapshot.services.keys());
      const services = service === undefined ? listed(snapshot, options) : [service];
      const view = await askedView(context, options, { snapshot, now }, { node, connections: { service } });
      return endpointReport(snapshot, { services, live: view.live, unasked: view.unasked });
    },
    names: ({ endpoints }) => endpoints.map((row) => `service/${row.service}`),
    needs: ['Service', 'EndpointSlice'],
    lines: renderEndpoints,
  });
}

/** Returns the Services of a namespace, or of all, in the order of their names. */
function listed(snapshot: Snapshot, options: Options): ServiceKey[] {
  const { namespace, allNamespaces, selector } = options;
  if (namespace === undefined && allNamespaces !== true && selector === undefined)
    throw new UsageError('name a Service, or use --namespace, --selector or --all-namespaces', exitStatus.usage);
  return [...selectedNames(options, 'Service', snapshot.services)].toSorted();
}
