import { defined } from '../../lang/defined.ts';
import { sessionChange } from '../../agent/sessions/session-change.ts';
import { isEmptyPlan, planChanges, type Plan } from '../../explain/plan/plan.ts';
import { planSummary, renderPlan } from '../../explain/plan/render-plan.ts';
import { providerChanges, renderProviderChanges, type ProviderChange } from '../../explain/provider/provider-changes.ts';
import { isBuiltIn, type ServicePreview } from '../../explain/provider/provider.ts';
import { isEmptyPreview, renderPreviews } from '../../explain/provider/render-preview.ts';
import { unreadLines } from '../../explain/unread-objects.ts';
import type { UnreadableKind } from '../../model/store/unreadable-kind.ts';
import { silentLog } from '../../system/log.ts';
import type { ClaimingProvider, OptionValues } from '../../controller/provider-definition.ts';
import { enabledDefinitions } from '../context/definitions.ts';
import type { ProviderFlag } from '../options/provider-option.ts';
import type { CommandContext } from '../context/command-context.ts';
import { linesAbove, problemLines } from '../reading/problem-lines.ts';
import { previewBy } from './provider-preview.ts';
import type { Proposal } from './proposal.ts';

/** The options that choose which changes outside Kubernetes are previewed. */
export type OutsideOptions = OptionValues & ProviderFlag;

/** Effects of a proposal if it came into force, as `herald plan` and the console show them. */
export interface PlanOutcome {
  readonly changes: Plan;
  readonly outside: ProviderPreviews;
  /** The proposal has an error. */
  readonly isBroken: boolean;
  /** Something that decisions need could not be read. */
  readonly isBlind: boolean;
  readonly isEmpty: boolean;
}

/** Compares the two snapshots of a proposal. Without `options` nothing outside Kubernetes is previewed. */
export async function planOutcome(context: CommandContext, proposal: Proposal, options?: OutsideOptions): Promise<PlanOutcome> {
  const { current, proposed, problems, unread, released } = proposal;
  const now = context.clock.date().getTime();
  const changes = planChanges(current, proposed, { classify: sessionChange, released, now });
  const outside = options === undefined ? nothingOutside : await previewProviders(context, options, proposal);
  return {
    changes,
    outside,
    isBroken: problems.some(({ severity }) => severity === 'error'),
    isBlind: unread.some(isNeeded),
    isEmpty: isEmptyPlan(changes) && outside.providers.length === 0 && outside.previews.every(isEmptyPreview),
  };
}

/** Returns the lines of `herald plan`. `now`: milliseconds since the epoch. */
export function planLines(proposal: Proposal, outcome: PlanOutcome, now: number): string[] {
  const { current, problems, currentErrors, inForce, unread } = proposal;
  const { changes, outside, isBroken, isBlind, isEmpty } = outcome;
  const isOnlyOutside = isEmptyPlan(changes) && !isEmpty;
  return [
    ...linesAbove(currentErrors, { snapshot: current, now, ...defined({ inForce }) }).map((line) => (line === '' ? line : `now: ${line}`)),
    ...problemLines(problems),
    ...unreadLines(unread),
    ...(isOnlyOutside ? [] : renderPlan(changes, { unsure: isBroken || isBlind })),
    ...outsideLines(outside),
    ...doubtLines(outcome),
  ];
}

/** Returns those lines that sum a plan up. */
export function summaryLines(outcome: PlanOutcome): string[] {
  const { changes, isBroken, isBlind, isEmpty } = outcome;
  const counts = isEmptyPlan(changes) ? [] : planSummary(changes);
  return [...(isEmpty ? renderPlan(changes, { unsure: isBroken || isBlind }) : counts), ...doubtLines(outcome)];
}

function doubtLines({ isBroken, isBlind }: PlanOutcome): string[] {
  return [
    ...(isBroken ? ['The proposal has errors, listed above: objects with an error are compared as they are now.'] : []),
    ...(isBlind ? ['Not everything could be read, as listed above: the plan may be incomplete.'] : []),
  ];
}

/** Returns the lines about Services of providers, and about the calls that providers would make. */
export function outsideLines({ providers, previews, telling, silent }: ProviderPreviews): string[] {
  return [...renderProviderChanges(providers, silent), ...renderPreviews(previews, telling)];
}

const nothingOutside: ProviderPreviews = { providers: [], previews: [], telling: [], silent: [] };

/** False for Secrets and node reports: both sides of the comparison lack them, so the result is the same. */
function isNeeded({ why, kind }: UnreadableKind): boolean {
  return why === 'forbidden' && kind !== 'Secret' && kind !== 'NodeState';
}

/** The changes that providers would make outside Kubernetes: of those that the options enable, and of modules. */
export interface ProviderPreviews {
  /** Services that providers of modules would serve. */
  readonly providers: readonly ProviderChange[];
  readonly previews: readonly ServicePreview[];
  /** Providers that can preview their changes, and those that cannot. */
  readonly telling: readonly string[];
  readonly silent: readonly string[];
}

/** Previews every Service of both snapshots. */
export async function previewProviders(
  context: CommandContext,
  options: OutsideOptions,
  proposal: Pick<Proposal, 'current' | 'proposed' | 'readPod'>,
): Promise<ProviderPreviews> {
  const { provider: modules = [] } = options;
  const enabled = enabledDefinitions(options);
  const claims = modules.length === 0 ? [] : await context.claims({ options, modules });
  const others = claims.filter(({ name }) => !isBuiltIn(name));
  // Built-in providers come first even when their previews are not requested: a Service that they claim belongs to no other provider.
  const first = claims.filter(({ name }) => isBuiltIn(name));
  const own =
    enabled.length === 0
      ? first
      : await context.providers({
          log: silentLog,
          leader: { mayWrite: () => false, ...defined({ readPod: proposal.readPod }) },
          options,
        });
  const telling = others.filter(({ preview }) => preview !== undefined).map(({ name }) => name);
  return {
    providers: providerChanges(claims, proposal.current, proposal.proposed),
    previews: await previewsOf([...own, ...others], proposal),
    telling: [...enabled.map(({ name }) => name), ...telling],
    silent: others.map(({ name }) => name).filter((name) => !telling.includes(name)),
  };
}

/** Previews Service by Service. */
async function previewsOf(
  providers: readonly ClaimingProvider[],
  { current, proposed }: Pick<Proposal, 'current' | 'proposed'>,
): Promise<ServicePreview[]> {
  const previews: ServicePreview[] = [];
  const failed = new Set<string>();
  for (const service of new Set([...proposed.services.keys(), ...current.services.keys()].toSorted((a, b) => (a < b ? -1 : 1)))) {
    const before = current.services.get(service);
    const of = proposed.services.get(service) ?? before;
    const claimant = providers.find((provider) => of !== undefined && provider.claim(of, proposed).mine);
    // A provider that holds something for the Service now would release it, whichever provider the Service has next.
    const has = (provider: ClaimingProvider): boolean =>
      before !== undefined && (provider.holds?.(service, before) === true || provider.claim(before, current).mine);
    const provider = claimant?.preview === undefined ? providers.find(has) : claimant;
    if (provider === undefined || failed.has(provider.name)) continue;
    const preview = await previewBy(provider, service, proposed);
    if (preview === undefined) continue;
    previews.push({ service, provider: provider.name, ...preview });
    // A preview that failed would fail for the next Service as well.
    if (preview.failed !== undefined) failed.add(provider.name);
  }
  return previews;
}
