import { isRecord } from '../../lang/is-record.ts';
import { heraldApiVersion } from '../../model/kinds.ts';
import type { RawEntry } from '../read-objects.ts';
import type { SourceProblem } from '../source.ts';

type Fields = Readonly<Record<string, unknown>>;

interface ApplyPreview {
  /** The cluster's objects, followed by the applied ones. A broken manifest leaves the cluster's object. */
  readonly entries: readonly RawEntry[];
  /** Problems that the API server would refuse. */
  readonly problems: readonly SourceProblem[];
}

const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration';

/**
 * Predicts a cluster's objects after `kubectl apply`, without writing: fields that the API server and other controllers filled in stay.
 * With `prune`, Herald's configuration objects without a manifest are removed.
 */
export function previewApply(
  current: readonly RawEntry[],
  manifests: readonly RawEntry[],
  { prune }: { readonly prune: boolean },
): ApplyPreview {
  const live = new Map(current.flatMap(({ raw }) => (isRecord(raw) ? [[identity(raw), raw] as const] : [])));
  const named = new Set<string>();
  const problems: SourceProblem[] = [];
  const changed = manifests.map(({ raw, where }): RawEntry => {
    const entry = where === undefined ? {} : { where };
    if (!isRecord(raw)) return { raw, ...entry };
    const id = identity(raw);
    named.add(id);
    const before = live.get(id);
    if (before === undefined) return { raw, ...entry };
    const merged = mergeObject(raw, before);
    const refused = immutable(id, before, merged, where);
    if (refused === undefined) return { raw: merged, ...entry };
    problems.push(refused);
    return { raw: before, ...entry };
  });
  const kept = current.filter(({ raw }) => !prune || !isRecord(raw) || !isConfiguration(raw) || named.has(identity(raw)));
  return { entries: [...kept, ...changed], problems };
}

function mergeObject(manifest: Fields, live: Fields): Fields {
  const annotations = isRecord(live['metadata']) && isRecord(live['metadata']['annotations']) ? live['metadata']['annotations'] : {};
  const merged = threeWayMerge(parsed(annotations[lastApplied]), manifest, live, live['kind'] === 'Service' ? servicePorts : noKeys);
  // Manifests do not change the status.
  const whole = { ...merged, status: live['status'] };
  return live['kind'] === 'Service' ? ofItsType(whole, manifest, live) : whole;
}

const noKeys: KeyOf = () => undefined;

/** Identifies ports as the API server does, so that each keeps its NodePort. */
const servicePorts: KeyOf = (path) =>
  path === 'spec.ports' ? ({ port, protocol = 'TCP' }) => `${String(port)}/${String(protocol)}` : undefined;

/** A Service whose type changes loses what the API server chose for the former type. */
function ofItsType(merged: Fields, manifest: Fields, live: Fields): Fields {
  const [spec, wanted, before] = [merged, manifest, live].map((one) => (isRecord(one['spec']) ? one['spec'] : {}));
  if (spec === undefined || wanted === undefined || before?.['type'] === spec['type']) return merged;
  const dropped = new Set<string>([
    ...(spec['type'] === 'LoadBalancer' ? [] : ['loadBalancerClass', 'allocateLoadBalancerNodePorts', 'healthCheckNodePort']),
    ...(spec['type'] === 'LoadBalancer' || spec['type'] === 'NodePort' ? [] : ['externalTrafficPolicy']),
  ]);
  const kept = Object.entries(spec).filter(([name]) => !dropped.has(name) || Object.hasOwn(wanted, name));
  const result = { ...merged, spec: Object.fromEntries(kept) };
  const ports: unknown = spec['ports'];
  if (spec['type'] !== 'ClusterIP' || !Array.isArray(ports)) return result;
  const without = ports.map((port: unknown) =>
    isRecord(port) ? Object.fromEntries(Object.entries(port).filter(([name]) => name !== 'nodePort')) : port,
  );
  return { ...result, spec: { ...result.spec, ports: without } };
}

/** Reports changes of immutable Service fields that a proposal is likely to contain. */
function immutable(id: string, before: Fields, after: Fields, where: string | undefined): SourceProblem | undefined {
  const [old, next] = [before, after].map((one) => (isRecord(one['spec']) ? one['spec'] : {}));
  if (before['kind'] !== 'Service' || old?.['type'] !== 'LoadBalancer' || next?.['type'] !== 'LoadBalancer') return undefined;
  if (old['loadBalancerClass'] === next['loadBalancerClass']) return undefined;
  const [, file, line] = /^(.*):(\d+)$/.exec(where ?? '') ?? [];
  return {
    severity: 'error',
    ...(file === undefined ? {} : { file, line: Number(line) }),
    object: id.replace(/^\S* /, ''),
    field: 'spec.loadBalancerClass',
    message: 'the API server refuses this: the field is immutable while the type is LoadBalancer',
    fix: 'delete the Service and create it anew, in the other class: it gets another address',
  };
}

/** True for configuration, false for agents' reports. */
function isConfiguration({ apiVersion, kind }: Fields): boolean {
  return apiVersion === heraldApiVersion && kind !== 'NodeState';
}

const withoutNamespace = new Set<unknown>(['Node', 'Namespace', 'ServiceCIDR']);

/** Returns "v1 Service/shop/web". */
function identity({ apiVersion, kind, metadata }: Fields): string {
  const { namespace = 'default', name } = isRecord(metadata) ? metadata : {};
  const isCluster = withoutNamespace.has(kind) || apiVersion === heraldApiVersion;
  return `${String(apiVersion)} ${String(kind)}/${isCluster ? '' : `${String(namespace)}/`}${String(name)}`;
}

function parsed(text: unknown): Fields {
  if (typeof text !== 'string') return {};
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : {};
  } catch {
    return {};
  }
}

/** Returns how the elements of a list are identified. Undefined when the list is one value. */
type KeyOf = (path: string) => ((element: Fields) => string) | undefined;

/**
 * Merges as `kubectl apply` does: a manifest's field wins; a field of the last applied manifest that is missing now is removed; every other
 * field stays. Lists are one value unless `keyOf` identifies their elements.
 */
function threeWayMerge(last: Fields, manifest: Fields, live: Fields, keyOf: KeyOf, path = ''): Record<string, unknown> {
  const merged: Record<string, unknown> = {};
  for (const name of new Set([...Object.keys(live), ...Object.keys(manifest)])) {
    const inner = path === '' ? name : `${path}.${name}`;
    const wanted = manifest[name];
    if (!Object.hasOwn(manifest, name)) {
      if (!Object.hasOwn(last, name)) merged[name] = live[name];
    } else if (wanted !== null) merged[name] = mergeValue(last[name], wanted, live[name], keyOf, inner);
  }
  return merged;
}

function mergeValue(last: unknown, wanted: unknown, live: unknown, keyOf: KeyOf, path: string): unknown {
  if (isRecord(wanted) && isRecord(live)) return threeWayMerge(isRecord(last) ? last : {}, wanted, live, keyOf, path);
  const key = keyOf(path);
  if (key === undefined || !Array.isArray(wanted) || !Array.isArray(live)) return wanted;
  return wanted.map((element: unknown) => {
    if (!isRecord(element)) return element;
    const same = (other: unknown): boolean => isRecord(other) && key(other) === key(element);
    const before: unknown = live.find(same);
    const applied: unknown = Array.isArray(last) ? last.find(same) : undefined;
    return mergeValue(applied, element, before ?? {}, keyOf, `${path}[]`);
  });
}
