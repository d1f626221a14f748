import type { AnnotationValues } from '../annotations/table.ts';
import type { Scheme } from '../cloud/elbv2.ts';
import type { AwsSettings } from '../model/settings.ts';
import type { Existing } from '../model/facts.ts';

/** Returns the scheme: the newer annotation, else the older one, else the scheme of the existing load balancer, else the default. */
export function effectiveScheme(
  { scheme, internal }: AnnotationValues,
  existing: Existing | undefined,
  upstreamIsPublic: boolean,
  settings: AwsSettings,
): Scheme {
  if (scheme !== undefined) return scheme;
  if (internal !== undefined) return internal ? 'internal' : 'internet-facing';
  return existing?.scheme ?? defaultScheme(upstreamIsPublic, settings);
}

export function defaultScheme(upstreamIsPublic: boolean, settings: AwsSettings): Scheme {
  return upstreamIsPublic ? 'internet-facing' : settings.defaultScheme;
}
