import { remedyText, reasonText } from '../../model/reasons.ts';
import { externalResourceText, type PreviewedService, type ServicePreview } from './provider.ts';

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
    ...reasons.map((reason) => `    ! ${reasonText(reason)}`),
    ...renderActions(actions, waits).map((line) => `    ${line}`),
  ]);
  const [failed] = previews.flatMap((preview) => preview.failed ?? []);
  if (failed !== undefined) return [`Calls ${whose}`, ...lines, '', `They cannot be told: ${remedyText(failed)}.`];
  return [`Calls ${whose}`, ...lines, '', `${calls} calls ${whose} would be made first; what follows depends on their outcome.`];
}

/** What there is, what there should be, and the difference, with what is wrong. */
export function renderPreview({ observed, desired, actions, waits, reasons, failed }: PreviewedService, provider: string): string[] {
  const wrong = reasons.flatMap((one) => [`  ! ${reasonText(one)}`, ...(remedyText(one) === '' ? [] : [`    fix: ${remedyText(one)}`])]);
  if (failed !== undefined) return [...wrong, `  ${externalResourceText(provider)} cannot be told`];
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
