import { limits } from '../../limits.ts';
import type { Service, ServicePort } from '../../objects/service.ts';
import { isLabelName } from '../../reading/metadata.ts';
import type { FieldReader } from '../../reading/fields.ts';
import type { ParseOptions } from '../../reading/result.ts';

export const protocols = ['TCP', 'UDP', 'SCTP'] as const;

/** Reads spec.ports. protocol defaults to TCP and targetPort to port. Names, and pairs of protocol and port, must be unique. */
export function readServicePorts(spec: FieldReader, type: Service['type'], headless: boolean, options: ParseOptions): ServicePort[] {
  const items = spec.objects('ports', limits.servicePorts);
  if (items.length === 0 && !headless && type !== 'ExternalName' && !spec.has('ports')) {
    spec.problem('ports', 'is required', 'list at least one port');
  }
  const seen = new Map<string, number>();
  return items.flatMap((item, index) => {
    const port = readPort(item, type, items.length > 1, options);
    if (port === undefined) return [];
    const once = (key: string, field: string, what: string): void => {
      const before = seen.get(key);
      if (before !== undefined) item.problem(field, `${what} is the same as in ports[${before}]`, 'make them different, or remove one');
      seen.set(key, before ?? index);
    };
    if (port.name !== '') once(`name ${port.name}`, 'name', `"${port.name}"`);
    once(`port ${port.protocol} ${port.port}`, 'port', `${port.protocol} ${port.port}`);
    if (port.nodePort !== 0) once(`nodePort ${port.protocol} ${port.nodePort}`, 'nodePort', `${port.protocol} ${port.nodePort}`);
    return [port];
  });
}

function readPort(item: FieldReader, type: Service['type'], several: boolean, { unchosen }: ParseOptions): ServicePort | undefined {
  const name = item.text('name') ?? '';
  if (name === '' && several) item.problem('name', 'is required when there are several ports', 'name each port');
  if (name !== '' && !isLabelName(name)) item.problem('name', `"${name}" is not a name`, 'use lower case letters, digits and "-"');
  const protocol = item.oneOf('protocol', protocols) ?? 'TCP';
  item.require('port', 'write the port that clients connect to');
  const port = item.integer('port', 1, 65_535);
  const nodePort = item.integer('nodePort', 0, 65_535) ?? 0;
  if (type === 'NodePort' && nodePort === 0 && unchosen !== 'left open') {
    item.problem('nodePort', 'is required: there is no API server that chooses one', 'write a free port, commonly 30000-32767');
  }
  if (nodePort !== 0 && type !== 'NodePort' && type !== 'LoadBalancer') {
    item.problem('nodePort', `is not for type ${type}`, 'remove it, or set spec.type: NodePort');
  }
  const targetPort = readTargetPort(item);
  return port === undefined ? undefined : { name, protocol, port, nodePort, targetPort: targetPort ?? port };
}

/** Reads a number, or the name of a port of the pods (IANA service name, RFC 6335 5.1). 0 and "" count as not set. */
function readTargetPort(item: FieldReader): number | string | undefined {
  const value = item.raw('targetPort');
  if (typeof value !== 'string') return item.integer('targetPort', 0, 65_535) || undefined;
  if (value === '') return undefined;
  const isName = value.length <= 15 && /^[a-z0-9]+(-[a-z0-9]+)*$/.test(value) && /[a-z]/.test(value);
  if (!isName)
    item.problem(
      'targetPort',
      'is neither a number nor the name of a port',
      'write 1-65535, or at most 15 lower case letters, digits and "-"',
    );
  return value;
}
