import { isRecord } from '../lang/is-record.ts';
import { defined } from '../lang/defined.ts';
import { heraldApiVersion, kinds } from './kinds.ts';
import { limits } from './limits.ts';
import { metallbGroup } from './parse/metallb-group.ts';
import { readEndpointSlice } from './parse/kubernetes/endpoint-slice.ts';
import { readEndpoints } from './parse/kubernetes/endpoints.ts';
import { FieldReader } from './reading/fields.ts';
import { isSubdomainName } from './reading/metadata.ts';
import { readNamespaceObject, readSecret, readServiceCIDR } from './parse/kubernetes/cluster.ts';
import { closestName } from '../lang/closest-name.ts';
import { readNode } from './parse/kubernetes/node.ts';
import type { EndpointSlice } from './objects/endpoint-slice.ts';
import { addProblem, type FieldPath, type FieldProblem, type Findings } from './reading/problem.ts';
import type { ObjectIdentity, ParseOptions, ReadResult } from './reading/result.ts';
import { readService } from './parse/service/service.ts';
import type { HeraldObject } from './store/snapshot.ts';

export { heraldApiVersion } from './kinds.ts';
export type { FieldProblem } from './reading/problem.ts';
export type { ObjectIdentity, ParseOptions } from './reading/result.ts';

export interface ParseResult {
  /** Absent when problems make the object unusable. Problems beside an object concern a part that is left out. */
  readonly object?: HeraldObject;
  /** Further slices for one core/v1 Endpoints: its other families and subsets. */
  readonly companions: readonly EndpointSlice[];
  /** Absent when kind or name is not readable. */
  readonly identity?: ObjectIdentity;
  /** Herald does not read this kind. It is neither valid nor invalid. */
  readonly ignored: boolean;
  readonly problems: readonly FieldProblem[];
  readonly warnings: readonly FieldProblem[];
}

interface KindReader {
  readonly apiVersion: string;
  readonly read: (fields: FieldReader, options: ParseOptions) => ReadResult<HeraldObject>;
  readonly namespaced: boolean;
  readonly strict: boolean;
  readonly secret?: boolean;
}

const kubernetes = { apiVersion: 'v1', namespaced: true, strict: false };

const readers: Readonly<Record<string, KindReader>> = {
  Service: { ...kubernetes, read: readService },
  EndpointSlice: { ...kubernetes, apiVersion: 'discovery.k8s.io/v1', read: readEndpointSlice },
  Endpoints: { ...kubernetes, read: readEndpoints },
  Node: { ...kubernetes, namespaced: false, read: readNode },
  Namespace: { ...kubernetes, namespaced: false, read: readNamespaceObject },
  ServiceCIDR: { ...kubernetes, apiVersion: 'networking.k8s.io/v1', namespaced: false, read: readServiceCIDR },
  Secret: { ...kubernetes, read: readSecret, secret: true },
  ...Object.fromEntries(
    kinds.map(({ kind, read, spec }) => [kind, { apiVersion: heraldApiVersion, namespaced: false, strict: spec !== undefined, read }]),
  ),
};

/**
 * Reads one manifest, already decoded from YAML or JSON, into a typed object with every default filled in. Kinds of herald.dev are read
 * strictly, kinds of Kubernetes as the API server reads them. Other kinds are `ignored`. Never throws.
 */
export function parseObject(raw: unknown, options: ParseOptions = {}): ParseResult {
  const findings: Findings = { problems: [], warnings: [], unusable: false };
  const refuse = (path: FieldPath, message: string, fix: string, identity?: ObjectIdentity): ParseResult => {
    addProblem(findings.problems, path, message, fix);
    return { ...findings, ...defined({ identity }), companions: [], ignored: false };
  };
  if (!isRecord(raw)) return refuse([], 'is not an object', 'an object has apiVersion, kind and metadata');
  const { apiVersion, kind } = raw;
  if (typeof apiVersion !== 'string' || apiVersion === '') return refuse(['apiVersion'], 'is required', `write v1 or ${heraldApiVersion}`);
  if (typeof kind !== 'string' || kind === '') return refuse(['kind'], 'is required', 'write the kind of the object');

  const reader = Object.hasOwn(readers, kind) ? readers[kind] : undefined;
  const identity = identityOf(raw, kind, reader?.namespaced ?? false);
  const refused = wrongVersion(apiVersion, kind, reader, (field, message, fix) => refuse([field], message, fix, identity));
  if (refused !== undefined) return refused;
  if (reader === undefined || reader.apiVersion !== apiVersion) return { companions: [], ignored: true, problems: [], warnings: [] };

  const unknown = reader.strict ? (options.unknownFields ?? 'refused') : 'ignored';
  const fields = new FieldReader(raw, findings, { unknown, secret: reader.secret ?? false });
  fields.raw('apiVersion');
  fields.raw('kind');
  const { object, companions } = reader.read(fields, options);
  fields.end();
  const { problems, warnings } = findings;
  const found = { ...defined({ identity }), ignored: false, problems, warnings };
  if (findings.unusable || object === undefined) return { ...found, companions: [] };
  return { ...found, object, companions: companions ?? [] };
}

/** Returns the elements of a `List` (or ServiceList, ...) with their paths. Any other object is returned as the only element. */
export function expandList(raw: unknown): readonly { readonly raw: unknown; readonly path: FieldPath }[] {
  if (!isRecord(raw) || typeof raw['kind'] !== 'string' || !raw['kind'].endsWith('List') || !Array.isArray(raw['items']))
    return [{ raw, path: [] }];
  const kind = raw['kind'].slice(0, -'List'.length);
  return raw['items'].slice(0, limits.listItems).map((item: unknown, index) => {
    // Elements of a typed list from the API server have no kind of their own.
    const typed = kind !== '' && isRecord(item) ? { apiVersion: raw['apiVersion'], kind, ...item } : item;
    return { raw: typed, path: ['items', index] };
  });
}

function identityOf(raw: Readonly<Record<string, unknown>>, kind: string, namespaced: boolean): ObjectIdentity | undefined {
  const metadata = raw['metadata'];
  if (!isRecord(metadata) || typeof metadata['name'] !== 'string' || !isSubdomainName(metadata['name'])) return undefined;
  const namespace = metadata['namespace'] ?? 'default';
  if (!namespaced) return { kind, namespace: '', name: metadata['name'] };
  if (typeof namespace !== 'string' || !isSubdomainName(namespace === '' ? 'default' : namespace)) return undefined;
  return { kind, namespace: namespace === '' ? 'default' : namespace, name: metadata['name'] };
}

type Refuse = (field: 'apiVersion' | 'kind', message: string, fix: string) => ParseResult;

/** Refuses a version or a kind that an object with this group cannot have. */
function wrongVersion(apiVersion: string, kind: string, reader: KindReader | undefined, refuse: Refuse): ParseResult | undefined {
  const group = apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : '';
  if (group === metallbGroup) {
    if (reader?.apiVersion !== heraldApiVersion)
      return refuse(
        'kind',
        `${kind.slice(0, 63)} is of MetalLB, and Herald does not read it`,
        kind === 'AddressPool'
          ? 'translate it with: herald import FILE'
          : 'leave it in the cluster as long as MetalLB or its operator runs, and out of the files that Herald reads',
      );
    const fix = 'set compat: metallb in HeraldConfig, or translate it with: herald import metallb';
    return refuse('apiVersion', `${kind} of MetalLB is read only with compat: metallb`, fix);
  }
  if (group === 'discovery.k8s.io' && kind === 'EndpointSlice' && reader?.apiVersion !== apiVersion)
    return refuse('apiVersion', `${apiVersion} is no longer served by Kubernetes`, 'set apiVersion: discovery.k8s.io/v1');
  if (group !== 'herald.dev') return undefined;
  const ourKinds = Object.keys(readers).filter((name) => readers[name]?.apiVersion === heraldApiVersion);
  if (!ourKinds.includes(kind)) {
    const meant = closestName(kind, ourKinds);
    const fix = meant === undefined ? `known: ${ourKinds.join(', ')}` : `did you mean ${meant}?`;
    return refuse('kind', `${kind.slice(0, 63)} is not a kind of Herald`, fix);
  }
  if (apiVersion === heraldApiVersion) return undefined;
  return refuse('apiVersion', `${apiVersion.slice(0, 63)} is not a version of Herald's API`, `set apiVersion: ${heraldApiVersion}`);
}
