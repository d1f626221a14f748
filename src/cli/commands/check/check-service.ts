import { Argument, Command, Option } from 'commander';
import { checkReport } from '../../../explain/check/check-report.ts';
import type { CheckReport, Unchecked } from '../../../explain/check/facts.ts';
import type { NameOf } from '../../../explain/check/matrix.ts';
import { renderCheck } from '../../../explain/check/render-check.ts';
import { tableLines } from '../../../explain/text/table-text.ts';
import { alikeUnqueried } from '../../../explain/text/unqueried.ts';
import { unreadLines } from '../../../explain/unread-objects.ts';
import { chooseEndpoints, targetsOf, topologyOf } from '../../../decisions/forwarding/endpoints.ts';
import { defined } from '../../../lang/defined.ts';
import type { ServiceKey } from '../../../model/objects/metadata.ts';
import type { Service } from '../../../model/objects/service.ts';
import type { Snapshot } from '../../../model/store/snapshot.ts';
import { formatAddress, parseAddress } from '../../../net/address.ts';
import { prefixContains } from '../../../net/prefix.ts';
import { UsageError, type CommandContext } from '../../context/command-context.ts';
import { exitStatus } from '../../context/exit-status.ts';
import { callerService } from '../../storage/caller-connection.ts';
import { kindWords, namespaceOption, type NamespaceOption } from '../../context/object-words.ts';
import { requireRead, unknownNameError } from '../../context/unknown-name.ts';
import { limits } from '../../limits.ts';
import { addFindProcessesOptions } from '../../live/find-processes.ts';
import type { UnreachableProcess } from '../../live/live-client.ts';
import { addCallerOptions, detailOption, sourceOption, type DetailOptions } from '../../options/shared-options.ts';
import { openReading } from '../../reading/open-reading.ts';
import type { Reading } from '../../reading/reading.ts';
import { externalHosts, endOf, probeAsClient } from './client-probes.ts';
import { checkOnNodes, type NodeCheckOptions, type NodeChecks } from './node-checks.ts';
import { statusOf } from './outcome-status.ts';
import { readRouter, type RouterCommand } from './router-command.ts';
import { checkRouters } from './router-checks.ts';

interface ReportOptions extends NodeCheckOptions {
  readonly client: boolean;
  readonly router?: readonly RouterCommand[];
}

interface Options extends ReportOptions, DetailOptions, NamespaceOption {
  readonly all?: true;
}

export function checkServiceCommand(context: CommandContext): Command {
  const command = new Command('service')
    .description(
      'open connections from every node to the endpoints and addresses of a Service, and from here to its addresses; send large packets; ask routers. It changes nothing. Exit status: 0 nothing failed, 3 something failed, 2 nothing failed but not every node was checked, 1 nothing was checked',
    )
    .aliases(kindWords.service)
    .addArgument(new Argument('[namespace/name]', 'the Service'))
    .addOption(namespaceOption())
    .addOption(new Option('--all', 'every Service that has an address for clients outside, in one table'))
    .option('--node <name>', 'only from this node')
    .addOption(
      new Option(
        '--router <name=command>',
        'run a command, without a shell, that prints what a router has: {prefix}, {address} and {family} (ipv4 or ipv6) in its words are replaced. JSON of FRR and text of BIRD are understood, other output is shown; may be given several times',
      ).argParser((text: string, before: readonly RouterCommand[] | undefined) => [...(before ?? []), readRouter(text)]),
    )
    .addOption(new Option('--no-client', 'open no connection from here'))
    .addOption(detailOption())
    .addOption(sourceOption())
    .addHelpText(
      'after',
      `\nExample:\n  herald check service shop/web                          from the nodes of the cluster of $KUBECONFIG, and from here\n  herald check service shop/web --source /etc/herald     from this host, whose agent reads the directory\n  herald check service --all -o json\n  herald check service shop/web --router "tor1=ssh tor1 'vtysh -c \\"show bgp {family} unicast {prefix} json\\"'"\n  herald check service shop/web --router "tor2=ssh tor2 birdc show route {prefix} all"`,
    )
    .action((name: string | undefined, options: Options) => check(context, name, options));
  return addCallerOptions(addFindProcessesOptions(command));
}

async function check(context: CommandContext, name: string | undefined, options: Options): Promise<void> {
  if ((name === undefined) === (options.all === undefined)) throw new UsageError('name one Service, or use --all', exitStatus.usage);
  const key = name === undefined ? undefined : await callerService(context, name, options);
  const reading = await openReading(context, options, key?.split('/')[0]);
  reading.close();
  const { snapshot, unread } = reading;
  if (options.node !== undefined && !snapshot.nodes.has(options.node)) requireRead('Node', options.node, unread);
  if (options.node !== undefined && !snapshot.nodes.has(options.node)) throw unknownNameError('node', options.node, snapshot.nodes.keys());
  const services = key === undefined ? withAddresses(snapshot, options.namespace) : [key];
  const unknown = services.find((one) => !snapshot.services.has(one));
  if (unknown !== undefined) requireRead('Service', unknown, unread);
  if (unknown !== undefined) throw unknownNameError('Service', unknown, snapshot.services.keys());
  const asked = services.slice(0, limits.checkServices);
  const found = await checkOnNodes(context, options, asked);
  const reports: CheckReport[] = [];
  for (const service of asked) reports.push(await reportOf(context, options, reading, found, service));
  const more = services.length - asked.length;
  if (more > 0) context.printError(`herald: ${more} more Services: --all checks at most ${limits.checkServices}; use --namespace`);
  print(context, options, snapshot, reports);
  context.setExitStatus(statusOf(reports.map(({ outcome }) => outcome)));
}

/** Checks one Service of a reading from every node and from here. Rejects with KubeError or UsageError. */
export async function checkOne(
  context: CommandContext,
  options: NodeCheckOptions,
  reading: Reading,
  service: ServiceKey,
): Promise<{ readonly report: CheckReport; readonly nameOf: NameOf; readonly lines: readonly string[] }> {
  const found = await checkOnNodes(context, options, [service]);
  const report = await reportOf(context, { ...options, client: true }, reading, found, service);
  const nameOf = nodeNames(reading.snapshot);
  return { report, nameOf, lines: renderCheck(report, nameOf, false) };
}

/** Returns the Services that clients outside may reach. */
function withAddresses({ services }: Snapshot, namespace: string | undefined): ServiceKey[] {
  return [...services]
    .filter(([key, service]) => externalHosts(service).length > 0 && (namespace === undefined || key.startsWith(`${namespace}/`)))
    .map(([key]) => key)
    .toSorted();
}

async function reportOf(
  context: CommandContext,
  options: ReportOptions,
  reading: Reading,
  { checks, unasked }: NodeChecks,
  key: ServiceKey,
): Promise<CheckReport> {
  const { snapshot, unread } = reading;
  const service = snapshot.services.get(key);
  if (service === undefined) throw new UsageError(`there is no Service ${key}`, 1);
  const nodes = checks.get(key) ?? [];
  const expected = options.node === undefined ? [...snapshot.nodes.keys()].toSorted() : [options.node];
  const answered = new Set(nodes.map(({ node }) => node));
  const client = options.client ? await probeAsClient(service, context) : undefined;
  const routes = await checkRouters(context, options, reading, service, options.router ?? []);
  const unchecked: Unchecked[] = [
    ...uncheckedNodes(
      expected.filter((node) => !answered.has(node)),
      unasked,
      options,
    ),
    ...clientNotes(client),
    ...otherClients(service),
    ...routes.unchecked,
    ...unreadLines(unread).map((line) => ({ what: 'the objects', why: line })),
  ];
  const external = new Set(externalHosts(service).flatMap((host) => service.ports.map(({ port }) => endOf(host, port))));
  const { routers, received } = routes;
  const hasEndpoints = takesConnections(snapshot, service);
  return checkReport(
    { service: key, nodes, expected, external, routers, received, unchecked, hasEndpoints, ...defined({ client }) },
    nodeNames(snapshot),
  );
}

/** Says why each missing node is missing. Reasons that name no node are of all of them. */
function uncheckedNodes(missing: readonly string[], unasked: readonly UnreachableProcess[], { source }: ReportOptions): Unchecked[] {
  const known = alikeUnqueried(unasked.filter(({ node }) => node === undefined || missing.includes(node)));
  const explained = new Set(unasked.flatMap(({ node }) => node ?? []));
  const rest = missing.filter((node) => !explained.has(node));
  const fix =
    source === undefined
      ? 'look for its agent: herald explain node'
      : 'run herald check node there, or name the sockets of its agents with --socket';
  return [
    ...known.map(({ who, why, fix: todo }) => ({ what: who, why, fix: todo })),
    ...(rest.length === 0 ? [] : [{ what: rest.join(', '), why: 'no agent of it was found', fix }]),
  ];
}

/** Names what the results of nodes and of the client here do not show of other clients. */
function otherClients({ externalTrafficPolicy, loadBalancerSourceRanges: ranges }: Service): Unchecked[] {
  const what = 'other clients';
  return [
    ...(ranges.length === 0 ? [] : [{ what, why: 'loadBalancerSourceRanges decide which are answered, and may leave out the one here' }]),
    ...(externalTrafficPolicy === 'Cluster'
      ? []
      : [
          {
            what,
            why: "under externalTrafficPolicy Local they get the endpoints of the node where they arrive; a node's own connections may use all",
          },
        ]),
  ];
}

function clientNotes(client: readonly unknown[] | undefined): Unchecked[] {
  if (client === undefined) return [{ what: 'the client here', why: '--no-client' }];
  if (client.length === 0) return [{ what: 'the client here', why: 'the Service has no address for clients outside' }];
  return [];
}

function takesConnections(snapshot: Snapshot, service: Service): boolean {
  const place = topologyOf(snapshot, '');
  return service.ports.some((port) =>
    service.ipFamilies.some((family) => chooseEndpoints(targetsOf(snapshot, service, port, family), place).everywhere.length > 0),
  );
}

/** Names the node of an address: its own, or one from its pod prefixes. */
function nodeNames({ nodes }: Snapshot): (text: string) => string | undefined {
  return (text) => {
    const read = parseAddress(text);
    if (!read.ok) return undefined;
    const all = [...nodes.values()];
    const own = all.find(({ internalIPs }) => internalIPs.some((one) => formatAddress(one) === text));
    return (own ?? all.find(({ podCIDRs }) => podCIDRs.some((prefix) => prefixContains(prefix, read.value))))?.metadata.name;
  };
}

function print(context: CommandContext, { output, all }: Options, snapshot: Snapshot, reports: readonly CheckReport[]): void {
  const [only] = reports;
  if (output === 'json') {
    context.print(JSON.stringify(all === undefined ? only : { services: reports }, undefined, 2));
    return;
  }
  const lines =
    all === undefined && only !== undefined
      ? renderCheck(only, nodeNames(snapshot), output === 'wide')
      : tableLines(
          ['Service', 'Result', 'Verdict'],
          reports.map(({ service, outcome, verdict }) => [service, outcome, verdict]),
        );
  for (const line of lines) context.print(line);
}
