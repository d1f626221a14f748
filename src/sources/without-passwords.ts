import { isRecord } from '../lang/is-record.ts';

/** Replaces a password in an object that may leave the process. */
export const hiddenPassword = 'not shown';

/**
 * Returns an object as written, without what must not leave the process: BGP passwords, and the metadata in which programs keep copies of
 * the object. Undefined: the object is a secret itself, or no object.
 */
export function withoutPasswords(raw: unknown): Readonly<Record<string, unknown>> | undefined {
  if (!isRecord(raw) || raw['kind'] === 'Secret') return undefined;
  const { metadata, spec } = raw;
  return {
    ...raw,
    ...(isRecord(metadata) ? { metadata: withoutCopies(metadata) } : {}),
    ...(isRecord(spec) && 'password' in spec ? { spec: { ...spec, password: hiddenPassword } } : {}),
  };
}

/** Many programs keep a copy in an annotation of their own name, so only annotations that decisions read stay. */
function withoutCopies(metadata: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const kept = Object.fromEntries(Object.entries(metadata).filter(([name]) => name !== 'managedFields'));
  const { annotations } = kept;
  if (!isRecord(annotations)) return kept;
  return { ...kept, annotations: Object.fromEntries(Object.entries(annotations).filter(([name]) => ours.test(name))) };
}

const ours = /^(?:herald\.dev|metallb\.io|metallb\.universe\.tf)\//;
