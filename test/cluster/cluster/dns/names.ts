import { address as parse, addressBytes, familyOfText } from '../../../../src/net/address.ts';
import { encodeName, recordTypes, responseCodes, type DnsRecord, type Question } from './message.ts';

export interface ServiceObject {
  readonly metadata: { readonly name: string; readonly namespace: string };
  readonly spec: { readonly type: string; readonly externalName?: string; readonly clusterIPs?: readonly string[] };
}

export interface SliceObject {
  readonly metadata: { readonly namespace: string; readonly labels?: Readonly<Record<string, string>> };
  readonly endpoints?:
    | readonly { readonly addresses: readonly string[]; readonly hostname?: string; readonly conditions?: { readonly ready?: boolean } }[]
    | null;
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

/**
 * Answers SERVICE.NAMESPACE.svc.cluster.local, and HOSTNAME before it for endpoints of a Service without ClusterIP, as the specification
 * "Kubernetes DNS-Based Service Discovery" 1.1 has it. It has no other zone, and no record of type PTR or SRV.
 */
export function lookUp({ services, slices }: Names, { name, type }: Question, aliases = 0): Answer {
  const labels = name.split('.');
  const [namespace, service, hostname] = labels.slice(0, -3).toReversed();
  if (labels.slice(-3).join('.') !== 'svc.cluster.local' || service === undefined || labels.length > 6) return noSuchName;
  const found = services.find(({ metadata }) => metadata.name === service && metadata.namespace === namespace);
  if (found === undefined) return noSuchName;
  const { type: serviceType, externalName = '', clusterIPs = [] } = found.spec;
  if (serviceType === 'ExternalName') {
    const alias: DnsRecord = { name, type: recordTypes.cname, data: encodeName(externalName) };
    const target = aliases < maximumAliases ? lookUp({ services, slices }, { name: externalName, type }, aliases + 1) : noSuchName;
    return { code: responseCodes.noError, records: [alias, ...target.records] };
  }
  const own = clusterIPs.filter((ip) => ip !== 'None');
  if (own.length > 0) return hostname === undefined ? addresses(name, type, own) : noSuchName;
  const endpoints = slices
    .filter(({ metadata }) => metadata.namespace === namespace && metadata.labels?.['kubernetes.io/service-name'] === service)
    .flatMap((slice) => slice.endpoints ?? [])
    .filter(({ conditions, hostname: own }) => conditions?.ready !== false && (hostname === undefined || own === hostname));
  return addresses(
    name,
    type,
    endpoints.flatMap((endpoint) => endpoint.addresses.slice(0, 1)),
  );
}

/** A name without an address of the wanted family exists, so the answer is empty and not "no such name". */
function addresses(name: string, type: number, all: readonly string[]): Answer {
  const family = type === recordTypes.a ? 4 : type === recordTypes.aaaa ? 6 : undefined;
  const wanted = all.filter((text) => familyOfText(text) === family);
  return { code: responseCodes.noError, records: wanted.map((text) => ({ name, type, data: Buffer.from(addressBytes(parse(text))) })) };
}
