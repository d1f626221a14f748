import { formatAddress, parseAddressLeniently, type Family } from '../../../net/address.ts';
import { SharedValues } from '../../../lang/shared-values.ts';
import { annotations, labels, lastChangeTrigger } from '../../annotations.ts';
import type { Endpoint, EndpointPort, EndpointSlice } from '../../objects/endpoint-slice.ts';
import { limits } from '../../limits.ts';
import type { Labels, Metadata } from '../../objects/metadata.ts';
import { readMetadata } from '../../reading/metadata.ts';
import type { FieldReader } from '../../reading/fields.ts';
import type { ParseOptions, ReadResult } from '../../reading/result.ts';
import { protocols } from '../service/service-ports.ts';
import { specialAddress } from '../../reading/special-address.ts';

/** Reads a discovery.k8s.io/v1 EndpointSlice. */
export function readEndpointSlice(fields: FieldReader, options: ParseOptions): ReadResult<EndpointSlice> {
  const metadata = readMetadata(fields, 'EndpointSlice', 'namespaced', options);
  fields.require('addressType', 'write IPv4 or IPv6');
  const addressType = fields.oneOf('addressType', ['IPv4', 'IPv6', 'FQDN']);
  if (addressType === 'FQDN')
    fields.warning('addressType', 'is FQDN: Herald cannot forward to endpoints without an IP address', 'use IPv4 or IPv6');
  const family: Family = addressType === 'IPv6' ? 6 : 4;
  const ports = fields.objects('ports', limits.portsPerSlice).flatMap((item) => readPort(item));
  const items = fields.objects('endpoints', limits.endpointsPerSlice);
  const endpoints = addressType === 'FQDN' ? [] : items.flatMap((item) => readEndpoint(item, family, metadata?.namespace, options) ?? []);
  if (metadata === undefined) return {};
  const weight = readWeight(fields, metadata.annotations);
  const service = metadata.labels[labels.serviceName];
  const owned = service === undefined || service === '' ? {} : { service: `${metadata.namespace}/${service}` as const };
  return { object: { kind: 'EndpointSlice', metadata: reduced(metadata), ...owned, family, ports, endpoints, ...weight } };
}

/** The slices of a Service carry its labels, which are read there. */
const usedLabels: readonly string[] = [labels.serviceName, labels.managedBy, labels.headless];

function reduced(metadata: Metadata): Metadata {
  const pick = (values: Labels, names: readonly string[]): Labels =>
    Object.fromEntries(names.flatMap((name) => (values[name] === undefined ? [] : [[name, values[name]]])));
  return {
    ...metadata,
    labels: pick(metadata.labels, usedLabels),
    annotations: pick(metadata.annotations, [lastChangeTrigger]),
  };
}

/** There are hundreds of thousands of endpoints, on few nodes in few zones, and each would have a copy of its names. */
const names = new SharedValues<string>(limits.sharedNames);
/** Lists of one name. */
const nameLists = new SharedValues<readonly string[]>(limits.sharedNames);
const none: readonly string[] = [];
const shared = (name: string): string => names.get(name, () => name);

/** Reads the weight. An invalid weight is left out, because a mistake must not remove the endpoints. */
function readWeight(fields: FieldReader, values: Labels): Pick<EndpointSlice, 'weight'> {
  const written = values[annotations.weight] ?? '';
  if (written === '') return {};
  const weight = Number(written);
  if (/^\d{1,3}$/.test(written) && weight >= 1 && weight <= limits.endpointWeight) return { weight };
  fields.annotationProblem(annotations.weight, written, `write a whole number from 1 to ${limits.endpointWeight}`);
  return {};
}

/** Reads a port. A port without a number means "all ports", which no proxy can forward, so it is left out with a warning. */
function readPort(item: FieldReader): EndpointPort[] {
  const name = item.text('name') ?? '';
  const protocol = item.oneOf('protocol', protocols) ?? 'TCP';
  const port = item.integer('port', 0, 65_535) ?? 0;
  if (port !== 0) return [{ name, protocol, port }];
  item.warning('port', 'has no number and is not used', 'write the port that the endpoints listen on');
  return [];
}

function readEndpoint(item: FieldReader, family: Family, namespace: string | undefined, { forAgent }: ParseOptions): Endpoint | undefined {
  item.require('addresses', 'write the address of the endpoint');
  const [address] = item.parsedList('addresses', limits.addressesPerEndpoint, parseAddressLeniently);
  const conditions = item.object('conditions');
  const ready = conditions.boolean('ready') ?? true;
  const serving = conditions.boolean('serving') ?? true;
  const terminating = conditions.boolean('terminating') ?? false;
  const nodeName = item.text('nodeName') ?? '';
  const zone = item.text('zone') ?? '';
  const hints = item.object('hints');
  const named = (name: string): readonly string[] => {
    const list = hints.objects(name, 16).flatMap((hint) => hint.text('name') ?? []);
    const [first] = list;
    if (first === undefined) return none;
    return list.length === 1 ? nameLists.get(first, () => list) : list;
  };
  const hintZones = named('forZones');
  const hintNodes = named('forNodes');
  if (address === undefined) return undefined;
  const special = specialAddress(address);
  if (special !== undefined)
    item.problem(['addresses', 0], `${formatAddress(address)} is ${special}`, 'use an address that nodes can reach');
  if (address.family !== family) {
    item.problem(
      ['addresses', 0],
      `${formatAddress(address)} is not IPv${family}`,
      `put it into a slice with addressType: IPv${address.family}`,
    );
  }
  return {
    address,
    ready,
    serving,
    terminating,
    ...(nodeName === '' ? {} : { nodeName: shared(nodeName) }),
    ...(zone === '' ? {} : { zone: shared(zone) }),
    ...(forAgent ? {} : readPodName(item.object('targetRef'), namespace)),
    hintZones,
    hintNodes,
  };
}

/** A Pod of another namespace does not count: the author of the slice may have no rights there. */
function readPodName(target: FieldReader, namespace: string | undefined): Pick<Endpoint, 'pod'> {
  const name = target.text('name') ?? '';
  if (target.text('kind') !== 'Pod' || name === '') return {};
  return (target.text('namespace') ?? namespace) === namespace ? { pod: name } : {};
}
