import { isRecord } from '../../lang/is-record.ts';
import type { RawObject } from '../../kube/raw-object.ts';

/** The entries of a list in an object of the API server; whatever is no object among them is left out. */
export const recordsOf = (value: unknown): Record<string, unknown>[] => (Array.isArray(value) ? value.filter(isRecord) : []);

export function containersIn(pod: RawObject): Record<string, unknown>[] {
  return recordsOf(isRecord(pod['spec']) ? pod['spec']['containers'] : undefined);
}

/** The port that the manifests name so. */
export function metricsPortOf(pod: RawObject): number | undefined {
  const port = containersIn(pod)
    .flatMap(({ ports }) => recordsOf(ports))
    .find(({ name }) => name === 'metrics')?.['containerPort'];
  return typeof port === 'number' ? port : undefined;
}
