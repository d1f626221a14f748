import { defined } from '../../../lang/defined.ts';
import { isRecord } from '../../../lang/is-record.ts';
import { annotations as names } from '../../../model/annotations.ts';
import type { ImportedService } from '../../../model/metallb/import-services.ts';
import { serviceKey, type ServiceKey } from '../../../model/objects/metadata.ts';
import type { Service } from '../../../model/objects/service.ts';
import { parseObject } from '../../../model/parse.ts';
import { familyOfText, formatAddress } from '../../../net/address.ts';
import type { RawDocument } from './sources/embedded.ts';

type Values = Readonly<Record<string, unknown>>;
type Annotations = Readonly<Record<string, string>>;

/** A Service of type LoadBalancer, as it is written and as it would be with the annotations that pin its addresses. */
export interface ServiceRequest {
  readonly service: ServiceKey;
  readonly where?: string;
  readonly before: readonly string[];
  readonly from: 'status' | 'request' | 'nothing';
  readonly sharedWith: readonly ServiceKey[];
  /** A request that Herald reads names all of `before`. */
  readonly isPinned: boolean;
  /** To add, so that it keeps its addresses. */
  readonly annotations: Annotations;
  /** The annotations replace spec.loadBalancerIP. */
  readonly withoutField: boolean;
  readonly raw: Values;
  readonly pinned: Values;
  /** Why Herald cannot read the Service. */
  readonly problem?: string;
}

/** Reads every Service of type LoadBalancer. `imported`: what `importServices` made of the annotations of other programs. Pure. */
export function serviceRequests(documents: readonly RawDocument[], imported: readonly ImportedService[]): ServiceRequest[] {
  const known = new Map(imported.map(({ service, where = '', annotations }) => [`${service} ${where}`, annotations]));
  const read = documents.flatMap(({ raw, where }) => {
    const one = isRecord(raw) && raw['kind'] === 'Service' && raw['apiVersion'] === 'v1' ? raw : undefined;
    if (one === undefined || partOf(one, 'spec')['type'] !== 'LoadBalancer') return [];
    const { name, namespace = 'default' } = partOf(one, 'metadata');
    const service = serviceKey({ namespace: String(namespace), name: String(name) });
    return [readRequest({ service, ...defined({ where }) }, one, known.get(`${service} ${where ?? ''}`) ?? {})];
  });
  const sharing = Map.groupBy(
    read.flatMap((one) => one.before.map((address) => ({ one, address }))),
    ({ address }) => address,
  );
  return read.map((one) => {
    const users = one.before.flatMap((address) => sharing.get(address) ?? []).map((use) => use.one);
    return finished(
      one,
      users.filter((other) => other.service !== one.service),
    );
  });
}

const partOf = (raw: Values, field: string): Values => (isRecord(raw[field]) ? raw[field] : {});

interface Read extends Pick<ServiceRequest, 'service' | 'where' | 'before' | 'from' | 'isPinned' | 'raw'> {
  readonly translated: Annotations;
  /** As it would be with the translated annotations. Absent: Herald cannot read it. */
  readonly object?: Service;
  readonly problem?: string;
}

function readRequest(place: Pick<ServiceRequest, 'service' | 'where'>, raw: Values, translated: Annotations): Read {
  const options = { unchosen: 'left open' } as const;
  const withFamilies = served(raw, translated);
  const asked = parsedService(withFamilies, translated);
  const written = parsedService(withFamilies, {}).object;
  const { object } = asked;
  const has = (object?.ingress ?? []).flatMap(({ address }) => (address === undefined ? [] : [formatAddress(address)]));
  // By 0.0.0.0 kube-vip asks a DHCP server.
  const asks = (object?.requestedAddresses ?? []).map(formatAddress).filter((text) => text !== '0.0.0.0' && text !== '::');
  const before = [...new Set(has.length > 0 ? has : asks)];
  const own = new Set((written?.requestedAddresses ?? []).map(formatAddress));
  return {
    ...place,
    before,
    from: has.length > 0 ? 'status' : asks.length > 0 ? 'request' : 'nothing',
    isPinned: before.length > 0 && before.every((address) => own.has(address)),
    raw: withFamilies,
    translated,
    ...defined({ object, problem: asked.problem }),
  };

  function parsedService(value: Values, added: Annotations): { readonly object?: Service; readonly problem?: string } {
    const { object: found, problems } = parseObject(annotated(value, added), options);
    const [first] = problems;
    if (found?.kind === 'Service') return { object: found };
    return { problem: first === undefined ? 'it is no Service' : `${first.field}: ${first.message}` };
  }
}

/** Without its class, and with the families of the addresses that it names: a cluster fills in spec.ipFamilies by its own order. */
function served(raw: Values, translated: Annotations): Values {
  const { loadBalancerClass: _class, ...spec } = partOf(raw, 'spec');
  const own = partOf(raw, 'metadata')['annotations'];
  const list = translated[names.loadBalancerIPs] ?? (isRecord(own) ? own[names.loadBalancerIPs] : undefined) ?? spec['loadBalancerIP'];
  const named = typeof list === 'string' ? list.split(',').map((text) => text.trim()) : [];
  const ingress = partOf(partOf(raw, 'status'), 'loadBalancer')['ingress'];
  const recorded = Array.isArray(ingress)
    ? ingress.flatMap((one) => (isRecord(one) && typeof one['ip'] === 'string' ? [one['ip']] : []))
    : [];
  const families = [...new Set([...recorded, ...named].filter((text) => text !== '').map((text) => `IPv${familyOfText(text)}`))];
  const isOpen = ['ipFamilies', 'clusterIP', 'clusterIPs'].every((field) => spec[field] === undefined);
  if (!isOpen || families.length === 0) return { ...raw, spec };
  const policy = families.length === 2 ? { ipFamilyPolicy: 'PreferDualStack' } : {};
  return { ...raw, spec: { ...policy, ...spec, ipFamilies: families } };
}

/** Without spec.loadBalancerIP where an annotation replaces it. */
function annotated(raw: Values, added: Annotations): Values {
  const metadata = partOf(raw, 'metadata');
  const { loadBalancerIP: _field, ...spec } = partOf(raw, 'spec');
  const annotations = { ...partOf(metadata, 'annotations'), ...added };
  return { ...raw, metadata: { ...metadata, annotations }, ...(Object.hasOwn(added, names.loadBalancerIPs) ? { spec } : {}) };
}

/** `users`: other Services with one of its addresses. */
function finished({ object, translated, ...one }: Read, users: readonly Read[]): ServiceRequest {
  const annotations: Record<string, string> = { ...translated };
  const requested = (object?.requestedAddresses ?? []).map(formatAddress);
  const isPart = requested.length < one.before.length && requested.every((address) => one.before.includes(address));
  if (isPart && !hasOwnRequest(one.raw)) annotations[names.loadBalancerIPs] = one.before.join(',');
  if (users.length > 0 && object !== undefined) Object.assign(annotations, sharingOf(object, one.before, users));
  return {
    ...one,
    sharedWith: [...new Set(users.map(({ service }) => service))].toSorted(),
    annotations,
    withoutField: Object.hasOwn(annotations, names.loadBalancerIPs) && Boolean(partOf(one.raw, 'spec')['loadBalancerIP']),
    pinned: annotated(one.raw, annotations),
  };
}

const hasOwnRequest = (raw: Values): boolean => Object.hasOwn(partOf(partOf(raw, 'metadata'), 'annotations'), names.loadBalancerIPs);

/** Services of other programs may share by the equal address alone. In Herald both have a key, and each admits the namespace of the other. */
function sharingOf(object: Service, addresses: readonly string[], users: readonly Read[]): Annotations {
  const keys = new Set([object, ...users.map((other) => other.object)].flatMap((each) => each?.sharingKey ?? []));
  const key = object.sharingKey ?? [...keys].toSorted()[0] ?? [...addresses].toSorted().join(',');
  const { namespace } = object.metadata;
  const strangers = users.map(({ service }) => service.slice(0, service.indexOf('/'))).filter((other) => other !== namespace);
  const missing = object.sharingNamespaces.includes('*') ? [] : strangers.filter((other) => !object.sharingNamespaces.includes(other));
  return {
    ...(object.sharingKey === undefined ? { [names.allowSharedIP]: key } : {}),
    ...(missing.length === 0
      ? {}
      : { [names.allowSharedIPNamespaces]: [...new Set([...object.sharingNamespaces, ...missing])].toSorted().join(',') }),
  };
}
