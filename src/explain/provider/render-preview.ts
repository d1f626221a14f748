import type { ServiceKey } from '../../model/objects/metadata.ts';
import { fix, says, type Reason } from '../../model/reasons.ts';
import { outsideText } from './provider.ts';

/** What a provider that acts outside of Kubernetes finds there for one Service, and would do. */
export interface PreviewedService {
  readonly observed: readonly string[];
  readonly desired: readonly string[];
  readonly actions: readonly { readonly id: string; readonly operation: string; readonly reason: string }[];
  readonly waits: readonly string[];
  readonly reasons: readonly Reason[];
  /** Why it cannot be told. */
  readonly failed?: Reason;
}

export interface ServicePreview extends PreviewedService {
  readonly service: ServiceKey;
  readonly provider: string;
}

/** Not so where nothing can be told. */
export function isEmptyPreview({ actions, failed }: ServicePreview): boolean {
  return actions.length === 0 && failed === undefined;
}

/** Of each provider, call by call in their order, each with why. Services of which there is nothing to say are left out. */
export function renderPreviews(previews: readonly ServicePreview[], providers: readonly string[]): string[] {
  return providers.flatMap((provider) =>
    renderCalls(
      previews.filter((preview) => preview.provider === provider),
      provider === 'aws' ? 'to AWS' : `of provider ${provider}`,
    ),
  );
}

function renderCalls(previews: readonly ServicePreview[], whose: string): string[] {
  const told = previews.filter(({ actions, reasons }) => actions.length > 0 || reasons.length > 0);
  const calls = previews.reduce((sum, { actions }) => sum + actions.length, 0);
  if (told.length === 0) return [`No call ${whose} would be made.`];
  const lines = told.flatMap(({ service, actions, waits, reasons }) => [
    `  ${service}`,
    ...reasons.map((reason) => `    ! ${says(reason)}`),
    ...renderActions(actions, waits).map((line) => `    ${line}`),
  ]);
  const [failed] = previews.flatMap((preview) => preview.failed ?? []);
  if (failed !== undefined) return [`Calls ${whose}`, ...lines, '', `They cannot be told: ${fix(failed)}.`];
  return [`Calls ${whose}`, ...lines, '', `${calls} calls ${whose} would be made first; what follows depends on their outcome.`];
}

/** What there is, what there should be, and the difference, with what is wrong. */
export function renderPreview({ observed, desired, actions, waits, reasons, failed }: PreviewedService, provider: string): string[] {
  const wrong = reasons.flatMap((one) => [`  ! ${says(one)}`, ...(fix(one) === '' ? [] : [`    fix: ${fix(one)}`])]);
  if (failed !== undefined) return [...wrong, `  ${outsideText(provider)} cannot be told`];
  return [
    ...wrong,
    '  observed',
    ...observed.map((line) => `    ${line}`),
    '  desired',
    ...desired.map((line) => `    ${line}`),
    actions.length === 0 ? '  difference: none, no call would be made' : '  difference',
    ...renderActions(actions, waits).map((line) => `    ${line}`),
  ];
}

function renderActions(actions: PreviewedService['actions'], waits: readonly string[]): string[] {
  return [
    ...actions.map(({ operation, id, reason }) => `${operation}  ${id}  (${reason})`),
    ...(actions.length === 0 ? [] : waits.map((wait) => `then waits for ${wait}`)),
  ];
}
