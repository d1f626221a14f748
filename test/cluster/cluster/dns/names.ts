import { address as parse, addressBytes, familyOfText } from '../../../../src/net/address.ts';
import { encodeName, encodeService, recordTypes, responseCodes, type DnsRecord, type Question } from './message.ts';

export interface ServiceObject {
  readonly metadata: { readonly name: string; readonly namespace: string };
  readonly spec: {
    readonly type: string;
    readonly externalName?: string;
    readonly clusterIPs?: readonly string[];
    readonly ports?: readonly PortObject[];
  };
}

interface PortObject {
  readonly name?: string;
  readonly protocol?: string;
  readonly port?: number;
}

interface EndpointObject {
  readonly addresses: readonly string[];
  readonly hostname?: string;
  readonly conditions?: { readonly ready?: boolean };
}

export interface SliceObject {
  readonly metadata: { readonly namespace: string; readonly labels?: Readonly<Record<string, string>> };
  readonly endpoints?: readonly EndpointObject[] | null;
  readonly ports?: readonly PortObject[] | null;
}

export interface Names {
  readonly services: readonly ServiceObject[];
  readonly slices: readonly SliceObject[];
}

export interface Answer {
  readonly code: number;
  readonly records: readonly DnsRecord[];
}

const noSuchName: Answer = { code: responseCodes.noSuchName, records: [] };

/** The most CNAMEs that one answer follows. */
const maximumAliases = 3;

const zone = 'svc.cluster.local';

/**
 * Answers SERVICE.NAMESPACE.svc.cluster.local, in front of it the host name or the address with dashes of an endpoint of a Service without ClusterIP,
 * or _PORT._PROTOCOL for records of type SRV, and the reverse names of ClusterIPs and of endpoints with a host name, as the specification
 * "Kubernetes DNS-Based Service Discovery" 1.1 has it. It has no other zone.
 */
export function lookUp(names: Names, { name, type }: Question, aliases = 0): Answer {
  if (name.endsWith('.arpa')) return reverse(names, name, type);
  const labels = name.split('.');
  const [namespace, service, ...further] = labels.slice(0, -3).toReversed();
  if (labels.slice(-3).join('.') !== zone || service === undefined || further.length > 2) return noSuchName;
  const found = names.services.find(({ metadata }) => metadata.name === service && metadata.namespace === namespace);
  if (found === undefined) return noSuchName;
  const [protocol, port] = further;
  if (port !== undefined) return services(names, found, name, port, protocol ?? '');
  const { type: serviceType, externalName = '' } = found.spec;
  if (serviceType === 'ExternalName') {
    const alias: DnsRecord = { name, type: recordTypes.cname, data: encodeName(externalName) };
    const target = aliases < maximumAliases ? lookUp(names, { name: externalName, type }, aliases + 1) : noSuchName;
    return { code: responseCodes.noError, records: [alias, ...target.records] };
  }
  const [hostname] = further;
  const own = clusterIPsOf(found);
  if (own.length > 0) return hostname === undefined ? addresses(name, type, own) : noSuchName;
  const endpoints = readyEndpoints(slicesOf(names, found)).filter((one) => hostname === undefined || labelOf(one) === hostname);
  return addresses(
    name,
    type,
    endpoints.flatMap((endpoint) => endpoint.addresses.slice(0, 1)),
  );
}

/** Answers _PORT._PROTOCOL in front of a Service: its ClusterIPs, or each ready endpoint of a Service without ClusterIP. */
function services(names: Names, service: ServiceObject, name: string, port: string, protocol: string): Answer {
  const named = (ports: readonly PortObject[] | null | undefined): number[] =>
    (ports ?? [])
      .filter((one) => `_${one.name}` === port && `_${(one.protocol ?? 'TCP').toLowerCase()}` === protocol)
      .flatMap((one) => one.port ?? []);
  const target = `${service.metadata.name}.${service.metadata.namespace}.${zone}`;
  const targets =
    clusterIPsOf(service).length > 0
      ? named(service.spec.ports).map((number) => encodeService(number, target))
      : slicesOf(names, service).flatMap((slice) =>
          named(slice.ports).flatMap((number) => readyEndpoints([slice]).map((one) => encodeService(number, `${labelOf(one)}.${target}`))),
        );
  return targets.length === 0
    ? noSuchName
    : { code: responseCodes.noError, records: targets.map((data) => ({ name, type: recordTypes.srv, data })) };
}

/** Answers a name below in-addr.arpa or ip6.arpa. */
function reverse(names: Names, name: string, type: number): Answer {
  const targets = names.services.flatMap((service) => {
    const full = `${service.metadata.name}.${service.metadata.namespace}.${zone}`;
    const own = clusterIPsOf(service);
    if (own.length > 0) return own.some((ip) => reverseName(ip) === name) ? [full] : [];
    const endpoints = readyEndpoints(slicesOf(names, service)).filter((one) => one.hostname !== undefined);
    return endpoints.filter((one) => one.addresses.some((ip) => reverseName(ip) === name)).map((one) => `${one.hostname}.${full}`);
  });
  if (targets.length === 0) return noSuchName;
  const records = type === recordTypes.ptr ? targets.map((target) => ({ name, type, data: encodeName(target) })) : [];
  return { code: responseCodes.noError, records };
}

/** "1.0.96.10.in-addr.arpa" */
function reverseName(ip: string): string {
  const bytes = [...addressBytes(parse(ip))].toReversed();
  if (bytes.length === 4) return `${bytes.join('.')}.in-addr.arpa`;
  return `${bytes
    .flatMap((byte) => [byte & 15, byte >> 4])
    .map((digit) => digit.toString(16))
    .join('.')}.ip6.arpa`;
}

const clusterIPsOf = ({ spec }: ServiceObject): readonly string[] => (spec.clusterIPs ?? []).filter((ip) => ip !== 'None');

const slicesOf = ({ slices }: Names, { metadata: { name, namespace } }: ServiceObject): readonly SliceObject[] =>
  slices.filter(({ metadata }) => metadata.namespace === namespace && metadata.labels?.['kubernetes.io/service-name'] === name);

const readyEndpoints = (slices: readonly SliceObject[]): readonly EndpointObject[] =>
  slices.flatMap((slice) => slice.endpoints ?? []).filter(({ conditions }) => conditions?.ready !== false);

/** The label of an endpoint below its Service. */
const labelOf = ({ hostname, addresses: [ip = ''] }: EndpointObject): string => hostname ?? ip.replaceAll(/[.:]/g, '-');

/** A name without an address of the wanted family exists, so the answer is empty and not "no such name". */
function addresses(name: string, type: number, all: readonly string[]): Answer {
  const family = type === recordTypes.a ? 4 : type === recordTypes.aaaa ? 6 : undefined;
  const wanted = all.filter((text) => familyOfText(text) === family);
  return { code: responseCodes.noError, records: wanted.map((text) => ({ name, type, data: Buffer.from(addressBytes(parse(text))) })) };
}
