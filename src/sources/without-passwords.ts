import { isRecord } from '../lang/is-record.ts';

/** Replaces a password in an object that may leave the process. */
export const hiddenPassword = 'not shown';

/**
 * Returns an object as written, without what must not leave the process: BGP passwords, and the copies of the object that programs keep in
 * its metadata. Undefined: the object is a secret itself, or no object.
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

function withoutCopies(metadata: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const kept = Object.fromEntries(Object.entries(metadata).filter(([name]) => name !== 'managedFields'));
  const { annotations } = kept;
  if (!isRecord(annotations)) return kept;
  const own = Object.entries(annotations).filter(([name]) => !name.endsWith('/last-applied-configuration'));
  return { ...kept, annotations: Object.fromEntries(own) };
}
