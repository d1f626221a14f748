import { defined } from '../../lang/defined.ts';
import type { Labels, ServiceKey } from '../../model/objects/metadata.ts';
import type { Service } from '../../model/objects/service.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { isBuiltIn, type Claimant } from './provider.ts';

/** A Service that a module's provider would begin to serve, continue to serve after a change, or stop serving. Plain data. */
export interface ProviderChange {
  readonly service: ServiceKey;
  /** The provider that serves the Service. Absent: none does. */
  readonly before?: string;
  readonly after?: string;
}

/** Compares the claims of all providers, and nothing else. Only the provider knows how a change of a Node or another object affects it. */
export function providerChanges(claimants: readonly Claimant[], current: Snapshot, proposed: Snapshot): ProviderChange[] {
  return [...new Set([...current.services.keys(), ...proposed.services.keys()])].toSorted().flatMap((service): ProviderChange[] => {
    const before = claimantOf(claimants, service, current);
    const after = claimantOf(claimants, service, proposed);
    if ([before, after].every((name) => name === undefined || isBuiltIn(name))) return [];
    if (before === after && askedText(current.services.get(service)) === askedText(proposed.services.get(service))) return [];
    return [{ service, ...defined({ before, after }) }];
  });
}

function claimantOf(claimants: readonly Claimant[], key: ServiceKey, snapshot: Snapshot): string | undefined {
  const service = snapshot.services.get(key);
  return service === undefined ? undefined : claimants.find((one) => one.claim(service, snapshot).mine)?.name;
}

/** Leaves out fields that the API server and controllers write: they are not part of a proposal. */
function askedText(service: Service | undefined): string {
  if (service === undefined) return '';
  const { resourceVersion: _version, generation: _generation, labels, annotations, ...metadata } = service.metadata;
  const asked = { ...service, metadata: { ...metadata, labels: sorted(labels), annotations: sorted(annotations) }, ingress: [] };
  return JSON.stringify(asked, (_, value: unknown) => (typeof value === 'bigint' ? value.toString() : value));
}

/** The order of labels has no meaning. */
const sorted = (labels: Labels): readonly unknown[] => Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1));

/** `silent` names providers without a preview. */
export function renderProviderChanges(changes: readonly ProviderChange[], silent: readonly string[]): string[] {
  if (changes.length === 0) return [];
  const untold = silent.filter((name) => changes.some(({ before, after }) => before === name || after === name));
  return [
    'Providers',
    ...changes.map((change) => `  ${changeText(change)}`),
    ...untold.map((name) => `The changes of provider ${name} are unknown: it has no preview.`),
    '',
  ];
}

function changeText({ service, before, after }: ProviderChange): string {
  if (before === undefined) return `+ ${service}: provider ${after} would serve it`;
  if (after === undefined) return `- ${service}: provider ${before} would stop serving it`;
  if (before === after) return `~ ${service}: provider ${after} would see the change`;
  return `~ ${service}: provider ${after} would serve it in place of ${before}`;
}
