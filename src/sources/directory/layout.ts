import { isSubdomainName } from '../../model/reading/metadata.ts';
import type { NamespacedName } from '../../model/objects/metadata.ts';
import { SourceError } from '../source.ts';

/** The folder inside the directory of manifests that Herald writes. It is never read as manifests. */
const ownFolder = '.herald';
export const statusFolder = `${ownFolder}/status/services`;
export const objectStatusFolder = `${ownFolder}/status/objects`;
const poolStatusFolder = `${objectStatusFolder}/ipaddresspool`;
export const nodesFolder = `${ownFolder}/nodes`;
const lastGoodFolder = `${ownFolder}/last-good`;

/** The role of a file, by its path relative to the directory. */
type FileRole =
  | { readonly kind: 'manifest' }
  | { readonly kind: 'nodeState' }
  | ({ readonly kind: 'record' } & NamespacedName)
  /** The status of an IPAddressPool. */
  | { readonly kind: 'poolRecord'; readonly name: string }
  /** The last good version of objects whose manifest, `of`, is broken now. */
  | { readonly kind: 'lastGood'; readonly of: string };

export function roleOf(path: string): FileRole | undefined {
  if (!/\.(yaml|yml|json)$/.test(path)) return undefined;
  const parts = path.split('/');
  if (parts.at(-1)?.startsWith('.') === true) return undefined;
  const stem = path.endsWith('.yaml') ? (parts.at(-1)?.slice(0, -'.yaml'.length) ?? '') : '';
  if (path.startsWith(`${statusFolder}/`)) {
    const namespace = parts[3] ?? '';
    return parts.length === 5 && isSubdomainName(namespace) && isSubdomainName(stem)
      ? { kind: 'record', namespace, name: stem }
      : undefined;
  }
  if (path.startsWith(`${poolStatusFolder}/`))
    return parts.length === 5 && isSubdomainName(stem) ? { kind: 'poolRecord', name: stem } : undefined;
  if (path.startsWith(`${nodesFolder}/`)) return parts.length === 3 && isSubdomainName(stem) ? { kind: 'nodeState' } : undefined;
  if (path.startsWith(`${lastGoodFolder}/`)) {
    const of = path.slice(lastGoodFolder.length + 1);
    return roleOf(of)?.kind === 'manifest' ? { kind: 'lastGood', of } : undefined;
  }
  return parts.some((part) => part.startsWith('.')) ? undefined : { kind: 'manifest' };
}

/** Returns the file that the agent of a node locks, by its path relative to the directory. */
export function nodeLockOf(node: string): string {
  return `${nodesFolder}/${node}.lock`;
}

/** Returns the file that records the last good version of the objects of a manifest. */
export function lastGoodFileOf(manifest: string): string {
  return `${lastGoodFolder}/${manifest}`;
}

/** True when the folder may contain relevant files. "" is the directory itself. */
export function mayHoldFiles(folder: string): boolean {
  if (folder === '' || folder === ownFolder || folder === `${ownFolder}/status` || folder === nodesFolder) return true;
  if (folder === objectStatusFolder || folder === poolStatusFolder) return true;
  if (folder === statusFolder || folder.startsWith(`${statusFolder}/`)) return true;
  if (folder === lastGoodFolder) return true;
  if (folder.startsWith(`${lastGoodFolder}/`)) return mayHoldFiles(folder.slice(lastGoodFolder.length + 1)) && !folder.includes('/.', 1);
  return !folder.split('/').some((part) => part.startsWith('.'));
}

/** Throws SourceError for an invalid Kubernetes name, because only valid names may become part of a path. */
export function fileOf(folder: string, ...names: readonly string[]): string {
  for (const name of names) {
    if (!isSubdomainName(name)) throw new SourceError('invalidName', 'a name that is not an RFC 1123 subdomain cannot be part of a path');
  }
  return `${folder}/${names.join('/')}.yaml`;
}
