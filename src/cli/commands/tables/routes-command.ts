import { Option, type Command } from 'commander';
import { defined } from '../../../lang/defined.ts';
import { renderRoutes } from '../../../explain/routes/render-routes.ts';
import { receivedReport, renderReceived, type ReceivedReport } from '../../../explain/routes/received-report.ts';
import { routeReport, type RouteReport } from '../../../explain/routes/route-report.ts';
import { UsageError } from '../../context/command-context.ts';
import type { CommandContext } from '../../context/command-context.ts';
import { callerService } from '../../storage/caller-connection.ts';
import { nodeOption, peerOption, requireKnownNames, type NameOptions } from './node-peer-options.ts';
import { withLiveRoutes } from '../../../explain/service/live-routes.ts';
import { scopeOptions, selectedNames, type ScopeOptions } from '../../options/selector-option.ts';
import { askedView } from '../../reading/query-nodes.ts';
import { tableCommand, type TableOptions } from './table-command.ts';
import { requireRead, unknownNameError } from '../../context/unknown-name.ts';

interface Options extends TableOptions, NameOptions, ScopeOptions {
  readonly service?: string;
  readonly received?: boolean;
}

export function routesCommand(context: CommandContext): Command {
  return tableCommand<Options, RouteReport | ReceivedReport>(context, {
    command: 'routes',
    alias: 'route',
    description:
      'show the routes that nodes announce: to which peers, with which attributes, and for which Service; or those that they receive',
    examples: [
      'herald routes                                   in the cluster of $KUBECONFIG',
      'herald routes -o wide --node node1 --peer tor1  with every attribute, and why a route is not sent',
      'herald routes --service shop/web --watch        again whenever it changes',
      'herald routes --received -o wide                routes that nodes take from peers with `import`, and why one is not taken',
      'herald routes -f manifests/                     routes that manifests would announce',
    ],
    options: [
      nodeOption(),
      peerOption(),
      new Option('--service <namespace/name>', 'only this Service'),
      new Option('--received', 'the routes that peers announced and `import` of their BGPPeer accepts; only running agents know them'),
      ...scopeOptions('Service'),
    ],
    async data({ snapshot, now, unread }, options) {
      const { node, peer, service } = options;
      requireKnownNames({ snapshot, unread }, { ...defined({ node, peer }) });
      if (options.received === true) {
        if ([service, options.namespace, options.selector].some((one) => one !== undefined))
          throw new UsageError('received routes belong to no Service: leave out --received, or --service, --namespace and --selector');
        if (options.file !== undefined || options.ask === false) {
          throw new UsageError('only running agents know received routes: leave out --file and --no-ask');
        }
        const { live, unasked } = await askedView(context, options, { snapshot, now }, { node, received: { peer } });
        return receivedReport(live, unasked);
      }
      const key = service === undefined ? undefined : await callerService(context, service, options);
      if (key !== undefined && !snapshot.services.has(key)) requireRead('Service', key, unread);
      if (key !== undefined && !snapshot.services.has(key)) throw unknownNameError('Service', key, snapshot.services.keys());
      const wanted = defined({ peer, service: key });
      const view = await askedView(context, options, { snapshot, now }, { node, routes: { peer, service: key } });
      const decided = routeReport(view.snapshot, now, { ...defined({ node }), ...wanted });
      const all = withLiveRoutes(decided, view.live, wanted);
      const selected = selectedNames(options, 'Service', snapshot.services);
      const table = { ...all, routes: all.routes.filter(({ services }) => services.some((one) => selected.has(one))) };
      return view.unasked.length === 0 ? table : { ...table, unasked: view.unasked };
    },
    names: (data) => ('received' in data ? [] : data.routes.flatMap(({ services }) => services.map((key) => `service/${key}`))),
    needs: ['Service', 'Node', 'BGPAdvertisement'],
    lines: (data, wide, unread) => ('received' in data ? renderReceived(data, wide) : renderRoutes(data, wide, unread)),
  });
}
