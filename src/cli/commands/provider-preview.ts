import type { Preview } from '../../controller/provider-parts.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import { reason } from '../../model/reasons.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import type { ClaimingProvider } from '../../controller/provider-definition.ts';

/**
 * Previews what a provider would do for a Service now. Returns undefined for a provider without previews. An operating error (an Error with
 * a `code`) becomes a preview with `failed` set.
 */
export async function previewBy(provider: ClaimingProvider, key: ServiceKey, snapshot: Snapshot): Promise<Preview | undefined> {
  try {
    return await provider.preview?.(key, snapshot);
  } catch (error) {
    if (!(error instanceof Error) || typeof (error as { readonly code?: unknown }).code !== 'string') throw error;
    const failed = reason('ProviderFailed', { provider: provider.name, problem: error.message });
    return { observed: [], desired: [], actions: [], waits: [], reasons: [failed], failed };
  }
}
