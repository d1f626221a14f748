import { defined } from '../../lang/defined.ts';
import type { Condition } from '../../model/objects/condition.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import { ingressTexts, type Service } from '../../model/objects/service.ts';
import type { ReasonCode } from '../../model/reasons.ts';
import type { ServiceOutcome, ServiceRow, ServicesView } from '../contract.ts';
import type { BriefVerdict, Picture } from '../picture.ts';
import { poolLookup } from './pool-lookup.ts';
import { readingFacts } from './reading-facts.ts';
import { outcomeOf } from './service-outcome.ts';

/** Lists Services of type LoadBalancer, and others of which Herald has a condition or a problem. */
export function servicesView(picture: Picture): ServicesView {
  const { snapshot, services, verdicts } = picture;
  const lines = new Map<string, number>();
  const lineOf = (text: string): number => {
    const known = lines.get(text);
    if (known !== undefined) return known;
    lines.set(text, lines.size);
    return lines.size - 1;
  };
  const poolOf = poolLookup(snapshot.pools.values());
  const rows = listedServices(picture).map(([key, service]): ServiceRow => {
    const verdict = verdicts.get(key);
    const { namespace, name } = service.metadata;
    const [first] = service.ingress.flatMap(({ address }) => address ?? []);
    const pool = first === undefined ? undefined : poolOf(first);
    const cause = causeOf(verdict);
    return {
      namespace: namespace ?? '',
      name,
      outcome: outcomeOf(verdict),
      conditions: conditionLetters(services.get(key)?.conditions ?? []),
      addresses: ingressTexts(service),
      ...defined({ pool, reason: cause?.code, line: cause === undefined ? undefined : lineOf(cause.line) }),
    };
  });
  return { ...readingFacts(picture), rows: rows.toSorted(byName), lines: [...lines.keys()] };
}

/** Without a cause, the sentence of a Service that is served or announced says only its address and nodes. */
function causeOf(verdict: BriefVerdict | undefined): { readonly line: string; readonly code?: ReasonCode } | undefined {
  if (verdict === undefined) return { line: unjudged };
  const { outcome, doubt, code = doubt, line = '' } = verdict;
  if (code === undefined && (outcome === 'served' || outcome === 'announced')) return undefined;
  return { line, ...defined({ code }) };
}

const unjudged = 'Too many Services need a whole explanation to be listed with it. Open the Service.';

/** Counts Services by outcome. */
export function countOutcomes(picture: Picture): Readonly<Record<ServiceOutcome, number>> {
  const counts = { served: 0, partly: 0, limited: 0, notServed: 0, announced: 0, unknown: 0, other: 0 };
  for (const [key] of listedServices(picture)) counts[outcomeOf(picture.verdicts.get(key))]++;
  return counts;
}

function listedServices({ snapshot, services }: Picture): readonly (readonly [ServiceKey, Service])[] {
  return [...snapshot.services].filter(([key, { type }]) => type === 'LoadBalancer' || services.has(key));
}

const order = ['AddressAssigned', 'Programmed', 'Announced'] as const;

function conditionLetters(conditions: readonly Condition[]): string {
  return order.map((type) => conditions.find((one) => one.type === `herald.dev/${type}`)?.status.charAt(0) ?? '-').join('');
}

function byName(a: ServiceRow, b: ServiceRow): number {
  if (a.namespace !== b.namespace) return a.namespace < b.namespace ? -1 : 1;
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
}
