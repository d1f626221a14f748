import { isRecord } from '../../../lang/is-record.ts';
import type { Pod, PodContainer } from '../../objects/pod.ts';

type Raw = Readonly<Record<string, unknown>>;

/** Reads a Pod leniently: unreadable parts count as absent. Returns undefined when the object is not a Pod. Never throws. */
export function readPod(raw: unknown): Pod | undefined {
  const { metadata, spec, status } = objectsIn(raw, 'metadata', 'spec', 'status');
  const name = text(metadata?.['name']);
  if (metadata === undefined || name === '') return undefined;
  const conditions = list(status?.['conditions']);
  const isTrue = (type: unknown): boolean => conditions.some((one) => one['type'] === type && one['status'] === 'True');
  const gates = list(spec?.['readinessGates']).map((gate) => text(gate['conditionType']));
  const scheduled = conditions.find((one) => one['type'] === 'PodScheduled');
  const phase = phases.find((one) => one === status?.['phase']) ?? 'Unknown';
  const addresses = list(status?.['podIPs']).map((one) => text(one['ip']));
  const first = text(status?.['podIP']);
  const annotations = textMap(metadata['annotations']);
  const variables = variablesIn(spec);
  return {
    namespace: text(metadata['namespace']) || 'default',
    name,
    ...(text(metadata['uid']) === '' ? {} : { uid: text(metadata['uid']) }),
    ...(text(metadata['creationTimestamp']) === '' ? {} : { created: text(metadata['creationTimestamp']) }),
    labels: textMap(metadata['labels']),
    ...(isEmpty(annotations) ? {} : { annotations }),
    ...(isEmpty(variables) ? {} : { variables }),
    node: text(spec?.['nodeName']),
    addresses: (addresses.length > 0 ? addresses : [first]).filter((address) => address !== ''),
    phase,
    terminating: metadata['deletionTimestamp'] !== undefined && metadata['deletionTimestamp'] !== null,
    ready: isTrue('Ready'),
    ...(gates.length === 0 ? {} : { gates }),
    unmetGates: gates.filter((gate) => gate !== '' && !isTrue(gate)),
    unscheduled: scheduled?.['status'] === 'False' ? text(scheduled['message']) || text(scheduled['reason']) : '',
    containers: containersIn(spec, status),
  };
}

/** Returns the variables of all containers that are written as values. */
function variablesIn(spec: Raw | undefined): Readonly<Record<string, string>> {
  const all = [...list(spec?.['containers']), ...list(spec?.['initContainers'])].flatMap((one) => list(one['env']));
  return Object.fromEntries(all.toReversed().map((one) => [text(one['name']), text(one['value'])]));
}

const phases = ['Pending', 'Running', 'Succeeded', 'Failed', 'Unknown'] as const;

/** Returns containers and sidecars. A sidecar is an init container that keeps running, and its readiness counts too. */
function containersIn(spec: Raw | undefined, status: Raw | undefined): PodContainer[] {
  const sidecars = list(spec?.['initContainers']).filter((one) => one['restartPolicy'] === 'Always');
  const statuses = [...list(status?.['initContainerStatuses']), ...list(status?.['containerStatuses'])];
  return [...sidecars, ...list(spec?.['containers'])].map((container): PodContainer => {
    const name = text(container['name']);
    const found = statuses.find((one) => one['name'] === name);
    const { waiting, terminated } = objectsIn(found?.['state'], 'waiting', 'terminated');
    const restarts = found?.['restartCount'];
    return {
      name,
      ready: found?.['ready'] === true,
      state: text(waiting?.['reason']) || text(terminated?.['reason']),
      restarts: typeof restarts === 'number' ? restarts : 0,
      ...declaredPorts(container),
      portNames: list(container['ports']).flatMap((port) => text(port['name']) || []),
    };
  });
}

function declaredPorts(container: Raw): Pick<PodContainer, 'ports'> {
  const ports = list(container['ports']).filter(({ protocol = 'TCP' }) => protocol === 'TCP');
  const numbers = ports.flatMap(({ containerPort }) => (typeof containerPort === 'number' ? [containerPort] : []));
  return numbers.length === 0 ? {} : { ports: numbers };
}

/** Returns those of these fields that are objects. */
export function objectsIn<K extends string>(value: unknown, ...names: readonly K[]): Partial<Record<K, Raw>> {
  const found: Partial<Record<K, Raw>> = {};
  for (const name of names) {
    const inner = isRecord(value) ? value[name] : undefined;
    if (isRecord(inner)) found[name] = inner;
  }
  return found;
}

/** Returns the objects of a list. Anything else has none. */
export function list(value: unknown): Raw[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

/** Returns "" for anything but text. */
export function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function textMap(value: unknown): Readonly<Record<string, string>> {
  if (!isRecord(value)) return {};
  return Object.fromEntries(Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === 'string'));
}

function isEmpty(map: object): boolean {
  return Object.keys(map).length === 0;
}
