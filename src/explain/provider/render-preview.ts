import { findProvider } from '../../model/provider-tables.ts';
import { remedyText, reasonText } from '../../model/reasons.ts';
import { externalResourceText, type PreviewedService, type ServicePreview } from './provider.ts';

/** False when a preview failed: its changes are unknown. */
export function isEmptyPreview({ actions, failed }: ServicePreview): boolean {
  return actions.length === 0 && failed === undefined;
}

/** Lists the calls of each provider in order, with the reason for each. Services without calls or problems are left out. */
export function renderPreviews(previews: readonly ServicePreview[], providers: readonly string[]): string[] {
  return providers.flatMap((provider) =>
    renderCalls(
      previews.filter((preview) => preview.provider === provider),
      findProvider(provider)?.wording?.calls ?? `of provider ${provider}`,
    ),
  );
}

function renderCalls(previews: readonly ServicePreview[], whose: string): string[] {
  const told = previews.filter(({ actions, reasons }) => actions.length > 0 || reasons.length > 0);
  const calls = previews.reduce((sum, { actions }) => sum + actions.length, 0);
  if (told.length === 0) return [`No call ${whose} would be made.`];
  const lines = told.flatMap(({ service, actions, waits, reasons }) => [
    `  ${service}`,
    ...reasons.map((reason) => `    ! ${reasonText(reason)}`),
    ...renderActions(actions, waits).map((line) => `    ${line}`),
  ]);
  const [failed] = previews.flatMap((preview) => preview.failed ?? []);
  if (failed !== undefined) return [`Calls ${whose}`, ...lines, '', `They are unknown: ${remedyText(failed)}.`];
  return [`Calls ${whose}`, ...lines, '', `${calls} calls ${whose} would be made first; what follows depends on their outcome.`];
}

/** Lists the observed state, the desired state, the difference and the problems. */
export function renderPreview({ observed, desired, actions, waits, reasons, failed }: PreviewedService, provider: string): string[] {
  const wrong = reasons.flatMap((one) => [`  ! ${reasonText(one)}`, ...(remedyText(one) === '' ? [] : [`    fix: ${remedyText(one)}`])]);
  if (failed !== undefined) return [...wrong, `  ${externalResourceText(provider)} are unknown`];
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
