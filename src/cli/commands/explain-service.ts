import { Argument, Command } from 'commander';
import { defined } from '../../lang/defined.ts';
import { secondsSince } from '../../explain/text/age.ts';
import {
  explainClaims,
  isBuiltIn,
  externalResourceText,
  withUnnamed,
  type ProviderExplanation,
  type ServiceRecordExplanation,
} from '../../explain/provider/provider.ts';
import { refusedVerdict } from '../../explain/service/refused-status.ts';
import { providerVerdict } from '../../explain/service/provider-verdict.ts';
import { renderService } from '../../explain/service/render-service.ts';
import { explainService, narrowToNodeAndPeer, withConclusion, type ServiceExplanation } from '../../explain/service/service.ts';
import { withUndecided } from '../../explain/service/undecided.ts';
import { whyAllocationSuspended } from '../reading/suspended-allocation.ts';
import { unreadLines } from '../../explain/unread-objects.ts';
import { serviceKey, type ServiceKey } from '../../model/objects/metadata.ts';
import type { Service } from '../../model/objects/service.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { problemText, type SourceProblem } from '../../sources/source.ts';
import { silentLog } from '../../system/log.ts';
import type { ClaimingProvider, OptionValues } from '../../controller/provider-definition.ts';
import { jsonText, UsageError, type CommandContext } from '../context/command-context.ts';
import { enabledDefinitions, exampleLines } from '../context/definitions.ts';
import { findProvider } from '../../model/provider-tables.ts';
import { forecastService } from '../../explain/service/forecast.ts';
import { alikeUnqueried } from '../../explain/text/unqueried.ts';
import { withoutSelfReference } from '../../explain/text/self-reference.ts';
import type { LiveNodes } from '../../explain/sessions/live-view.ts';
import { explainLiveService } from '../../explain/service/live-service.ts';
import { queryNodes } from '../reading/query-nodes.ts';
import { addReadingOptions, openReading, type ReadingOptions } from '../reading/open-reading.ts';
import { inForceJson } from '../reading/in-force.ts';
import { linesAbove, problemLines } from '../reading/problem-lines.ts';
import { detailOption, type DetailOptions } from '../options/shared-options.ts';
import { addProviderOptions, providerOption } from '../options/provider-option.ts';
import { callerService } from '../storage/caller-connection.ts';
import { kindWords, namespaceOption, type NamespaceOption } from '../context/object-words.ts';
import type { OutsideOptions } from './plan-outcome.ts';
import { previewBy } from './provider-preview.ts';
import { podReaderOf } from '../reading/pod-reader.ts';
import type { UnreachableProcess } from '../live/live-client.ts';
import { keptNow, type Reading } from '../reading/reading.ts';
import { requireRead, similarServices, knownNamesText, suggestion } from '../context/unknown-name.ts';

interface Narrowing {
  readonly node?: string;
  readonly peer?: string;
}

type Options = Narrowing & DetailOptions & NamespaceOption & ReadingOptions & OutsideOptions;

export function explainServiceCommand(context: CommandContext): Command {
  const command = new Command('service')
    .description(
      'explain why a Service has an address or not, and which nodes announce and forward it: pool by pool, node by node, peer by peer',
    )
    .aliases(kindWords.service)
    .addArgument(new Argument('<namespace/name>', 'the Service'))
    .addOption(namespaceOption())
    .option('--node <name>', 'only this node')
    .option('--peer <name>', 'only what is announced to this BGPPeer')
    .addOption(providerOption())
    .addOption(detailOption())
    .addHelpText(
      'after',
      `\nExample:\n  herald explain service shop/web                          in the cluster of $KUBECONFIG\n  herald explain svc web -n shop --node node1 --peer tor1\n  herald explain service shop/web --source /etc/herald     a directory, with the records of herald run\n  herald explain service shop/web -f manifests/            what would happen to manifests\n${exampleLines('explain')}  herald explain service shop/web --provider /opt/acme/provider.ts  with a provider of your own`,
    )
    .action(async (name: string, options: Options) => {
      const key = await callerService(context, name, options);
      const [namespace = ''] = key.split('/');
      const reading = await openReading(context, options, namespace);
      try {
        await explain(context, reading, key, options);
      } finally {
        reading.close();
      }
    });
  return addProviderOptions(addReadingOptions(command));
}

async function explain(context: CommandContext, reading: Reading, key: ServiceKey, options: Options): Promise<void> {
  const { snapshot, problems, unread, from } = reading;
  const about = problems.filter((problem) => concerns(problem, key));
  const judged = await judgedExplanation(context, reading, key, options, options);
  if (judged === undefined) {
    requireRead('Service', key, unread);
    const because = [...about.map(problemText), ...unreadLines(unread)].map((line) => `\n  ${line}`).join('');
    throw new UsageError(
      `there is no valid Service ${key} in ${from}${suggestion(key, snapshot.services.keys())}${knownNamesText(similarServices(key, snapshot.services.keys()))}${because}`,
    );
  }
  const explanation = narrowToNodeAndPeer(judged.explanation, options);
  if (options.output === 'json') {
    const { unasked } = judged;
    return context.print(jsonText({ ...explanation, problems: about, ...inForceJson(reading), unread, unasked }));
  }
  const isWhole = options.output === 'wide' || options.node !== undefined || options.peer !== undefined;
  for (const line of explanationLines(reading, { ...judged, explanation }, isWhole ? 'whole' : 'brief')) context.print(line);
}

/** An explanation with the present answers of agents. */
export interface JudgedExplanation {
  readonly explanation: ServiceExplanation;
  /** Agents that could not be queried. */
  readonly unasked: readonly UnreachableProcess[];
  /** The answers of the others. */
  readonly live: LiveNodes;
}

/**
 * Explains a Service with everything that the options let it read. `providers`: how to find further providers and their resources. Undefined:
 * there is no valid Service of this name.
 */
export async function judgedExplanation(
  context: CommandContext,
  reading: Reading,
  key: ServiceKey,
  options: ReadingOptions & Narrowing,
  providers: OutsideOptions | undefined,
): Promise<JudgedExplanation | undefined> {
  const { snapshot, now } = reading;
  const [namespace = ''] = key.split('/');
  const service = snapshot.services.get(key);
  const pods = service === undefined ? undefined : await reading.pods(namespace);
  const released = await keptNow(reading);
  const present = explainService(snapshot, key, now, { pods, released });
  const forecast = present !== undefined && reading.kind === 'manifests' ? forecastService(snapshot, present, now, released) : undefined;
  const decided = forecast ?? present;
  if (service === undefined || decided === undefined) return undefined;
  requireKnown(decided, options);
  const { live, processes, unasked } = await queryNodes(context, options, {
    node: options.node,
    // Only a controller knows why a Service has no status.
    of: decided.status === undefined ? ['agent', 'controller'] : ['agent'],
    routes: { service: key },
    checks: key,
    ...(decided.l2 === undefined ? {} : { l2: true }),
  });
  const told = forecast ?? explainLiveService(snapshot, key, now, { live, pods, released }) ?? decided;
  const whole = await withProviderAndRecord(context, reading, service, told, providers);
  const concluded = forecast === undefined ? withUndecided(whole, reading, namespace) : whole;
  const knowsEndpoints = reading.unread.every(({ kind }) => kind !== 'EndpointSlice');
  return {
    explanation: {
      ...concluded,
      ...defined({ verdict: refusedVerdict(concluded, processes) ?? providerVerdict(concluded, knowsEndpoints) }),
    },
    unasked,
    live,
  };
}

/** Returns the lines that the command prints. */
export function explanationLines(
  reading: Reading,
  { explanation, unasked }: Pick<JudgedExplanation, 'explanation' | 'unasked'>,
  detail: 'brief' | 'whole',
): readonly string[] {
  const { service: key } = explanation;
  const about = reading.problems.filter((problem) => concerns(problem, key));
  return [
    ...linesAbove(about, reading),
    ...withoutSelfReference(renderService(explanation, detail), `herald explain service ${key}`),
    ...problemLines(about.filter(({ severity }) => severity === 'warning')),
    ...unreadLines(reading.unread),
    ...alikeUnqueried(unasked).map(({ who, why }) => `not queried, so shown as decided and reported: ${who}: ${why}`),
  ];
}

/**
 * True when a problem may affect a Service: its own problems, and errors of objects that it may need, such as a pool, a peer or a whole
 * file.
 */
function concerns({ object, severity }: SourceProblem, key: ServiceKey): boolean {
  if (object === `Service/${key}`) return true;
  if (severity !== 'error') return false;
  const [kind = '', namespace] = object?.split('/') ?? [];
  return kind !== 'Service' && (!ofNamespaces.has(kind) || namespace === key.slice(0, key.indexOf('/')));
}

/** A Service needs objects of these kinds only from its own namespace. */
const ofNamespaces: ReadonlySet<string> = new Set(['EndpointSlice', 'Endpoints']);

/** For a bundle: explains a Service without a call to a cloud. Undefined: there is no Service of this name. */
export async function serviceExplanation(
  context: CommandContext,
  reading: Reading,
  key: ServiceKey,
): Promise<ServiceExplanation | undefined> {
  const { snapshot, now } = reading;
  const [namespace = ''] = key.split('/');
  const service = snapshot.services.get(key);
  if (service === undefined) return undefined;
  const decided = explainService(snapshot, key, now, { pods: await reading.pods(namespace), released: await keptNow(reading) });
  if (decided === undefined) return undefined;
  const whole = await withProviderAndRecord(context, reading, service, decided, undefined);
  return withUndecided(whole, reading, namespace);
}

async function withProviderAndRecord(
  context: CommandContext,
  reading: Reading,
  service: Service,
  decided: ServiceExplanation,
  options: OutsideOptions | undefined,
): Promise<ServiceExplanation> {
  const { namespace, name } = service.metadata;
  const record = await recordOf(reading, `${namespace}/${name}`);
  const provider = withUnnamed(await explainProvider(context, reading, service, options), service, record);
  const suspended = await whyAllocationSuspended(reading, service, record.conditions);
  if (suspended === undefined) return { ...decided, provider, record };
  return withConclusion({ ...decided, allocation: { addresses: [], reason: suspended, pools: [] }, provider, record }, reading.snapshot);
}

function requireKnown({ nodes }: ServiceExplanation, { node, peer }: Narrowing): void {
  const names = nodes.map((one) => one.node);
  if (node !== undefined && !names.includes(node))
    throw new UsageError(`there is no node ${node}: the nodes are ${names.join(', ') || 'none'}`);
  const peers = new Set(nodes.flatMap(({ addresses }) => addresses.flatMap((address) => address.peers.map((one) => one.peer))));
  if (peer === undefined || peers.has(peer)) return;
  throw new UsageError(
    `no node has a session with a BGPPeer ${peer} that concerns this Service; the peers are ${[...peers].join(', ') || 'none'}`,
  );
}

/**
 * Explains which provider serves the Service. For a provider with resources outside Kubernetes it adds their state and the pending changes,
 * when they can be read.
 */
async function explainProvider(
  context: CommandContext,
  reading: Reading,
  service: Service,
  options: OutsideOptions | undefined,
): Promise<ProviderExplanation> {
  const { snapshot } = reading;
  const key = serviceKey(service.metadata);
  const { provider: modules = [] } = options ?? {};
  const all = await context.claims({ options: options ?? {}, modules });
  const claims = claimsOn(all, service, snapshot);
  const name = [claims.provider, claims.holder].find((one) => one !== 'bare-metal' && one !== undefined);
  const acting = all.find((one) => one.name === name);
  if (acting === undefined) return claims;
  const unread = isBuiltIn(acting.name) && !enabledDefinitions(options ?? {}).some(({ name: enabled }) => enabled === acting.name);
  if (unread) {
    const todo = findProvider(acting.name)?.wording?.unread ?? 'enable it';
    return { ...claims, noPreview: `${externalResourceText(acting.name)} were not read: ${todo}` };
  }
  const preview = await previewBy(await actor(context, acting, options, reading), key, snapshot);
  if (preview !== undefined) return { ...claims, preview: { ...preview, provider: acting.name } };
  const noPreview = `${externalResourceText(acting.name)} and its pending changes are unknown: it has no preview`;
  return { ...claims, noPreview };
}

/** Explains which provider serves the Service, and which other one still has resources of it. */
export function claimsOn(providers: readonly ClaimingProvider[], service: Service, snapshot: Snapshot): ProviderExplanation {
  const claimed = explainClaims(providers, service, snapshot);
  const key = serviceKey(service.metadata);
  const holder = providers.find((one) => one.name !== claimed.provider && one.holds?.(key, service) === true)?.name;
  return holder === undefined ? claimed : { ...claimed, holder };
}

/** Returns the provider itself for a claim that was decided without loading the provider. */
async function actor(
  context: CommandContext,
  claim: ClaimingProvider,
  options: OptionValues | undefined,
  reading: Reading,
): Promise<ClaimingProvider> {
  if (!isBuiltIn(claim.name) || options === undefined) return claim;
  const leader = { mayWrite: () => false, ...defined({ readPod: podReaderOf(reading) }) };
  const providers = await context.providers({ log: silentLog, leader, options });
  return providers.find(({ name }) => name === claim.name) ?? claim;
}

async function recordOf(reading: Reading, key: ServiceKey): Promise<ServiceRecordExplanation> {
  const { conditions, events } = await reading.record(key);
  const ago = (text: string | undefined): { readonly secondsAgo?: number } => {
    const seconds = secondsSince(text, reading.now);
    return seconds === undefined ? {} : { secondsAgo: seconds };
  };
  return {
    conditions: conditions.map(({ since, ...condition }) => ({ ...condition, ...ago(since) })),
    events: events.map(({ last, ...event }) => ({ ...event, ...ago(last) })),
  };
}
