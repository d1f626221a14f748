import type { Fields } from './fields.ts';

/** The namespace that Herald's manifests give it the right to read Secrets in. */
const namespace = 'herald-system';

/**
 * Names a Secret with a password in Herald's namespace. The import does not read passwords, and other programs' Secrets have another type, so
 * the remark has the command that copies it. `key` is the key of the password in the Secret `name` of namespace `of`.
 */
export function secretReference(fields: Fields, field: string, name: string | undefined, of: string, key = 'password'): object | undefined {
  if (name === undefined) return undefined;
  const read = `kubectl -n ${of} get secret ${name} -o jsonpath='{.data.${key.replaceAll('.', String.raw`\.`)}}' | base64 -d`;
  fields.lose(
    field,
    `names Secret ${name}, which Herald cannot use as it is: the BGPPeer names Secret ${namespace}/${name} of type kubernetes.io/basic-auth`,
    `kubectl -n ${namespace} create secret generic ${name} --type kubernetes.io/basic-auth --from-literal=password="$(${read})"`,
  );
  return { name, namespace };
}
