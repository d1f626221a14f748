import { defined } from '../../lang/defined.ts';
import { limits } from '../limits.ts';
import type { Metadata } from '../objects/metadata.ts';
import { foreignAnnotation, foreignWarning } from './foreign-annotations.ts';
import { metallbAnnotation } from './metallb-annotations.ts';
import type { FieldReader } from './fields.ts';
import { identityText, type ParseOptions } from './result.ts';

const label = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
/** kubectl stores the whole previous manifest in this annotation. */
const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration';

/** True for an RFC 1123 label: at most 63 lower case letters, digits and "-". */
export const isLabelName = (text: string): boolean => label.test(text);

/** True for an RFC 1123 subdomain of at most 253 characters. It contains no path separator, so it is safe as a file name. */
export const isSubdomainName = (text: string): boolean => text.length <= 253 && text.split('.').every(isLabelName);

type Scope = 'namespaced' | 'cluster';

/** Reads the metadata of an object. `fields` is the object itself. Returns undefined when the object has no valid name. */
export function readMetadata(fields: FieldReader, kind: string, scope: Scope, options: ParseOptions): Metadata | undefined {
  const metadata = fields.object('metadata');
  for (const name of ['managedFields', 'ownerReferences', 'selfLink', 'generateName']) metadata.raw(name);
  metadata.require('name', `name this ${kind}`);
  const name = metadata.text('name', 253) ?? '';
  if (name !== '' && !isSubdomainName(name)) {
    metadata.problem('name', `${JSON.stringify(name)} is not a name`, 'use lower case letters, digits, "-" and "." (RFC 1123 subdomain)');
  }
  const namespace = readNamespace(metadata, kind, scope);
  const uid = metadata.text('uid') ?? '';
  const resourceVersion = metadata.text('resourceVersion') ?? '';
  const labels = metadata.textMap('labels');
  const written = metadata.textMap('annotations', { keep: (key) => key !== lastApplied });
  warnOfMetalLB(metadata, written);
  if (kind === 'Service') warnOfOthers(metadata, written);
  const size = Object.entries(written).reduce((sum, [key, value]) => sum + key.length + value.length, 0);
  if (size > limits.annotations) metadata.problem('annotations', `are longer than ${limits.annotations} characters together`, '');
  const creationTimestamp = metadata.text('creationTimestamp') ?? '';
  const deleting = metadata.has('deletionTimestamp');
  const generation = metadata.raw('generation');
  metadata.raw('deletionGracePeriodSeconds');
  const finalizers = kind === 'Service' ? metadata.texts('finalizers', limits.names) : [];
  metadata.raw('finalizers');
  if (namespace === undefined || !isSubdomainName(name)) return undefined;
  const standalone = options.resourceVersion !== undefined;
  return {
    namespace,
    name,
    uid: standalone ? `standalone:${identityText({ kind, namespace, name }).replace('/', ':')}` : uid,
    resourceVersion: options.resourceVersion ?? resourceVersion,
    labels,
    annotations: written,
    creationTimestamp,
    deleting,
    ...defined({ origin: options.origin }),
    ...(finalizers.length === 0 ? {} : { finalizers }),
    ...(typeof generation !== 'number' || standalone ? {} : { generation }),
  };
}

/** Warns of MetalLB's annotations in a manifest, because silently ignoring them would cost hours. */
function warnOfMetalLB(metadata: FieldReader, values: Readonly<Record<string, string>>): void {
  for (const name of Object.keys(values)) {
    const meaning = metallbAnnotation(name);
    if (meaning === undefined) continue;
    const ours = meaning.row?.ours;
    metadata.warning(
      ['annotations', name],
      'is an annotation of MetalLB and is not read',
      ours === undefined ? 'remove it' : `write ${ours}, or set compat: metallb in HeraldConfig`,
    );
  }
}

/** Warns of annotations by which a Service asks another load balancer, because a pinned address would be lost without a word. */
function warnOfOthers(metadata: FieldReader, values: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(values)) {
    const annotation = foreignAnnotation(name, value);
    if (annotation === undefined) continue;
    const { message, fix } = foreignWarning(annotation, value);
    if (annotation.ours === undefined || !Object.hasOwn(values, annotation.ours)) metadata.warning(['annotations', name], message, fix);
  }
}

/** Reads the namespace. A namespaced object without one is in "default", as with kubectl. */
function readNamespace(metadata: FieldReader, kind: string, scope: Scope): string | undefined {
  const namespace = metadata.text('namespace', 253) ?? '';
  if (scope === 'cluster') {
    if (namespace !== '') metadata.warning('namespace', `is not used: ${kind} is cluster-scoped`, 'remove metadata.namespace');
    return '';
  }
  if (namespace === '') return 'default';
  if (isLabelName(namespace)) return namespace;
  return metadata.problem(
    'namespace',
    `${JSON.stringify(namespace)} is not the name of a namespace`,
    'use lower case letters, digits and "-"',
  );
}
