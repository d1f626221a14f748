import type { PreviewedService } from '../../../explain/provider/provider.ts';
import { judgeOther } from '../../../controller/services/service-conditions.ts';
import type { ClaimingProvider } from '../../../controller/provider-definition.ts';
import { defined } from '../../../lang/defined.ts';
import { decideAllocationClaim } from '../../../decisions/allocation/claim.ts';
import { outsideFrontends, seenConnections } from '../../../decisions/verdict/seen-connections.ts';
import type { BriefVerdict } from '../../../console/picture.ts';
import { isFabricWhole } from '../../../explain/overview/whole-fabric.ts';
import type { Verdict } from '../../../decisions/verdict/verdict.ts';
import { withUnnamed } from '../../../explain/provider/provider.ts';
import { forecastService } from '../../../explain/service/forecast.ts';
import { providerVerdict } from '../../../explain/service/provider-verdict.ts';
import { refusedVerdict } from '../../../explain/service/refused-status.ts';
import { explainEndpoints } from '../../../explain/service/service-endpoints.ts';
import { explainService } from '../../../explain/service/service.ts';
import { withUndecided } from '../../../explain/service/undecided.ts';
import type { Condition } from '../../../model/objects/condition.ts';
import type { ServiceKey } from '../../../model/objects/metadata.ts';
import { ingressTexts, type Service } from '../../../model/objects/service.ts';
import type { ReleasedAddress } from '../../../model/parse/released-address.ts';
import type { TimeSlice } from '../../../system/time-slice.ts';
import type { LiveClient } from '../../live/live-client.ts';
import { limits } from '../../limits.ts';
import { keptNow, type Reading } from '../../reading/reading.ts';
import { claimsOn } from '../explain-service.ts';
import type { CurrentState } from '../tables/current-conditions.ts';

/** What is known beside the objects. */
interface Beside {
  readonly states: ReadonlyMap<ServiceKey, CurrentState>;
  readonly providers: readonly ClaimingProvider[];
  readonly processes: readonly Pick<LiveClient, 'who' | 'process'>[];
  /** What providers saw of the resources of a Service outside the cluster. Undefined: it was not read. */
  readonly previewOf: (service: ServiceKey) => (PreviewedService & { readonly provider: string }) | undefined;
  readonly slice: TimeSlice;
}

/**
 * Returns the verdict of `herald explain` on each Service of type LoadBalancer and on each that has a state. Objects that could not be read, and
 * manifests without a controller, need the whole explanation: then at most `limits.explainedServices` Services have a verdict.
 */
export async function currentVerdicts(reading: Reading, beside: Beside): Promise<ReadonlyMap<ServiceKey, BriefVerdict>> {
  const { states, slice } = beside;
  const released = await keptNow(reading);
  const recorded = await reading.conditions();
  const verdicts = new Map<ServiceKey, BriefVerdict>();
  const isWholeFabric = isFabricWhole(reading.snapshot, reading.now);
  let explained = 0;
  for (const [key, service] of reading.snapshot.services) {
    if (slice.isUsedUp) await slice.yield();
    const state = states.get(key);
    if (service.type !== 'LoadBalancer' && state === undefined) continue;
    const isWhole = needsExplanation(reading, service);
    if (isWhole && ++explained > limits.explainedServices) continue;
    const decided = isWhole ? explainedVerdict(reading, key, released) : judgedVerdict(reading, service, state, isWholeFabric);
    const said =
      refusedVerdict({ service: key, status: ingressTexts(service) }, beside.processes) ??
      verdictOfProvider(reading, { key, service, conditions: recorded.get(key) ?? [] }, beside) ??
      decided;
    if (said !== undefined) verdicts.set(key, said);
  }
  return verdicts;
}

function needsExplanation({ kind, snapshot, unread }: Reading, { ingress }: Service): boolean {
  if (unread.some(({ why, kind: of }) => why === 'forbidden' && of !== 'Secret')) return true;
  return kind === 'manifests' && ingress.length === 0 && snapshot.nodeStates.size === 0;
}

function judgedVerdict(
  { snapshot, now }: Reading,
  service: Service,
  state: CurrentState | undefined,
  isWholeFabric: boolean,
): BriefVerdict | undefined {
  if (!decideAllocationClaim(service, snapshot.config).mine) return judgeOther(snapshot, service, now).judge();
  const { verdict, judge } = state?.judged ?? {};
  if (verdict !== undefined || !isWholeFabric) return verdict ?? judge?.();
  // To judge each of 50,000 Services takes as long as half a minute, and would find only whether it was seen.
  const { answered } = seenConnections(snapshot, now);
  const frontends = outsideFrontends(service);
  return { outcome: frontends.length > 0 && frontends.every(answered) ? 'served' : 'announced' };
}

function explainedVerdict(reading: Reading, key: ServiceKey, released: readonly ReleasedAddress[]): Verdict | undefined {
  const { snapshot, now, kind } = reading;
  const present = explainService(snapshot, key, now, { released });
  if (present === undefined) return undefined;
  const forecast = kind === 'manifests' ? forecastService(snapshot, present, now, released) : undefined;
  return (forecast ?? withUndecided(present, reading, key.slice(0, key.indexOf('/')))).verdict;
}

interface RecordedService {
  readonly key: ServiceKey;
  readonly service: Service;
  readonly conditions: readonly Condition[];
}

function verdictOfProvider(
  { snapshot, unread }: Reading,
  { key, service, conditions }: RecordedService,
  { providers, previewOf }: Pick<Beside, 'providers' | 'previewOf'>,
): Verdict | undefined {
  if (service.type !== 'LoadBalancer') return undefined;
  const record = { conditions, events: [] };
  const provider = withUnnamed(claimsOn(providers, service, snapshot), service, record);
  return providerVerdict(
    {
      service: key,
      type: service.type,
      provider: { ...provider, ...defined({ preview: previewOf(key) }) },
      record,
      endpoints: explainEndpoints(snapshot, service, key, undefined),
      status: ingressTexts(service),
    },
    unread.every(({ kind }) => kind !== 'EndpointSlice'),
  );
}
