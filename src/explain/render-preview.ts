import type { ServiceKey } from '../model/metadata.ts';
import { says, type Reason } from '../model/reasons.ts';

/** What would be done outside of Kubernetes for one Service. */
export interface ServicePreview {
  readonly service: ServiceKey;
  readonly actions: readonly { readonly id: string; readonly operation: string; readonly reason: string }[];
  readonly waits: readonly string[];
  readonly reasons: readonly Reason[];
}

export function isEmptyPreview({ actions }: ServicePreview): boolean {
  return actions.length === 0;
}

/** Call by call, in their order, each with why. Services of which there is nothing to say are left out. */
export function renderPreviews(previews: readonly ServicePreview[]): string[] {
  const told = previews.filter(({ actions, reasons }) => actions.length > 0 || reasons.length > 0);
  const calls = previews.reduce((sum, { actions }) => sum + actions.length, 0);
  if (told.length === 0) return ['No call to AWS would be made.'];
  const lines = told.flatMap(({ service, actions, waits, reasons }) => [
    `  ${service}`,
    ...reasons.map((reason) => `    ! ${says(reason)}`),
    ...actions.map(({ operation, id, reason }) => `    ${operation}  ${id}  (${reason})`),
    ...(actions.length === 0 ? [] : waits.map((wait) => `    then waits for ${wait}`)),
  ]);
  return ['Calls to AWS', ...lines, '', `${calls} calls to AWS would be made first; what follows depends on their outcome.`];
}
