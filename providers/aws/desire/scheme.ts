import type { AnnotationValues } from '../annotations/table.ts';
import type { Scheme } from '../cloud/elbv2.ts';
import type { AwsSettings } from '../model/settings.ts';
import type { Existing } from '../model/facts.ts';

/** What is written, in the newer form before the older; else what the load balancer is; else the default. */
export function effectiveScheme(
  { scheme, internal }: AnnotationValues,
  existing: Existing | undefined,
  upstreamIsPublic: boolean,
  settings: AwsSettings,
): Scheme {
  if (scheme !== undefined) return scheme;
  if (internal !== undefined) return internal ? 'internal' : 'internet-facing';
  return existing?.scheme ?? (upstreamIsPublic ? 'internet-facing' : settings.defaultScheme);
}
