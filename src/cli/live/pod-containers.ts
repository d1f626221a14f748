import { isRecord } from '../../lang/is-record.ts';
import type { RawObject } from '../../kube/raw-object.ts';

/** Returns the objects in a list of the API server. Other entries are left out. */
export const recordsOf = (value: unknown): Record<string, unknown>[] => (Array.isArray(value) ? value.filter(isRecord) : []);

export function containersIn(pod: RawObject): Record<string, unknown>[] {
  return recordsOf(isRecord(pod['spec']) ? pod['spec']['containers'] : undefined);
}

/** Returns the port that the shipped manifests name "metrics". */
export function metricsPortOf(pod: RawObject): number | undefined {
  const port = containersIn(pod)
    .flatMap(({ ports }) => recordsOf(ports))
    .find(({ name }) => name === 'metrics')?.['containerPort'];
  return typeof port === 'number' ? port : undefined;
}
