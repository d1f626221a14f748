import { expectedAddresses } from '../../../explain/pools/allocation.ts';
import { createAllocator } from '../../../decisions/allocation/allocator.ts';
import { effectivePools } from '../../../decisions/allocation/pools/pools.ts';
import { defined } from '../../../lang/defined.ts';
import { isRecord } from '../../../lang/is-record.ts';
import type { ImportedService } from '../../../model/metallb/import-services.ts';
import type { Remark } from '../../../model/metallb/import.ts';
import type { ServiceKey } from '../../../model/objects/metadata.ts';
import { heraldApiVersion } from '../../../model/parse.ts';
import { reasonText, remedyText, type Reason } from '../../../model/reasons.ts';
import { parseAddress } from '../../../net/address.ts';
import { readObjects } from '../../../sources/read-objects.ts';
import { serviceRequests, type ServiceRequest } from './service-requests.ts';
import type { RawDocument } from './sources/embedded.ts';
import type { Manifest } from './tools/tool.ts';

/** The addresses of a Service of type LoadBalancer before the migration, and those that Herald would give it. */
export interface ServiceAddresses {
  readonly service: ServiceKey;
  readonly where?: string;
  /** Those of its status, or else those that it asks for, whatever program reads the request. */
  readonly before: readonly string[];
  readonly from: 'status' | 'request' | 'nothing';
  /** Other Services with one of these addresses. */
  readonly sharedWith: readonly ServiceKey[];
  /**
   * pinned: a request that Herald reads has them. kept: Herald adopts them from the status, and does not know them when another program
   * clears it. another: only after the command of the report Herald gives the same addresses. none: not even then. unknown: there is no pool.
   * new: the Service had no address.
   */
  readonly outcome: 'pinned' | 'kept' | 'another' | 'none' | 'unknown' | 'new';
  /** With the command of the report. */
  readonly after: readonly { readonly address: string; readonly pool?: string }[];
  /** Why Herald does not give them. */
  readonly reason?: string;
}

/** The Services that `importServices` found, and the addresses that Herald would give them. */
interface AddressReport {
  readonly services: readonly ImportedService[];
  readonly addresses: readonly ServiceAddresses[];
}

/**
 * Decides for every Service of type LoadBalancer which addresses Herald would give it from the pools of `manifests`, if Herald serves it.
 * Adds to `services` what pins its addresses. Pure.
 */
export function reportAddresses(
  documents: readonly RawDocument[],
  manifests: readonly Manifest[],
  services: readonly ImportedService[],
): AddressReport {
  const requests = serviceRequests(documents, services);
  const others = documents.filter(({ raw }) => isRecord(raw) && (raw['kind'] === 'Node' || raw['kind'] === 'Namespace'));
  const objects: RawDocument[] = [...others, ...manifests.map((raw) => ({ raw })), { raw: serveAll }];
  const addresses = rounds(requests).flatMap((round) => {
    // A Service without an address takes none that another one has, or asks for.
    const holders = round.filter(({ before }) => before.length > 0);
    const written = outcomes(objects, holders, 'raw');
    const pinned = outcomes(objects, holders, 'pinned');
    const all = holders.length === round.length ? pinned : outcomes(objects, round, 'pinned');
    return round.map((one) => addressesOf(one, written, one.before.length > 0 ? pinned : all));
  });
  const found = new Map(addresses.map((one) => [identity(one), one]));
  const wanted = new Map(requests.map((one) => [identity(one), one]));
  const known = new Set(services.map(identity));
  const added = requests.filter((one) => !known.has(identity(one))).map(({ service, where }) => ({ service, ...defined({ where }) }));
  const merged = [...services, ...added.map((one): ImportedService => ({ ...one, annotations: {}, remarks: [] }))].map((one) =>
    withPin(one, wanted.get(identity(one)), found.get(identity(one))),
  );
  return {
    services: merged.filter(
      ({ annotations, remarks }, index) => index < services.length || remarks.length + Object.keys(annotations).length > 0,
    ),
    addresses: requests.flatMap((one) => found.get(identity(one)) ?? []),
  };
}

/** HeraldConfig decides which Services Herald serves. The report is about their addresses, so it looks at all of them. */
const serveAll = { apiVersion: heraldApiVersion, kind: 'HeraldConfig', metadata: { name: 'default' }, spec: { defaultClass: true } };

const identity = ({ service, where = '' }: { readonly service: string; readonly where?: string }): string => `${service} ${where}`;

/** Files may have one Service several times, one for each cluster. Each is looked at with the others of its round. */
function rounds(requests: readonly ServiceRequest[]): ServiceRequest[][] {
  const seen = new Map<ServiceKey, number>();
  const found: ServiceRequest[][] = [];
  for (const one of requests) {
    const round = seen.get(one.service) ?? 0;
    seen.set(one.service, round + 1);
    (found[round] ??= []).push(one);
  }
  return found;
}

interface Outcomes {
  readonly hasPools: boolean;
  readonly poolOf: (address: string) => string | undefined;
  readonly expected: ReturnType<typeof expectedAddresses>;
}

function outcomes(objects: readonly RawDocument[], round: readonly ServiceRequest[], as: 'raw' | 'pinned'): Outcomes {
  // With a place, fields that an API server fills in may be missing.
  const entries = round.map((one) => ({ raw: one[as], where: one.where ?? 'input:1' }));
  const { snapshot } = readObjects([...objects, ...entries]);
  const { pools, refused } = effectivePools(snapshot.pools);
  const allocator = createAllocator(pools, [...refused.values()]);
  return {
    hasPools: snapshot.pools.size > 0,
    poolOf: (text) => {
      const parsed = parseAddress(text);
      return parsed.ok ? allocator.poolOf(parsed.value) : undefined;
    },
    expected: expectedAddresses(snapshot, snapshot),
  };
}

function addressesOf(one: ServiceRequest, written: Outcomes, pinned: Outcomes): ServiceAddresses {
  const { service, where, before, from, sharedWith } = one;
  const now = written.expected.get(service);
  const then = pinned.expected.get(service);
  const after = (then?.addresses ?? []).map((address) => ({ address, ...defined({ pool: pinned.poolOf(address) }) }));
  const isGiven = (expected: typeof now): boolean =>
    expected?.reason === undefined && before.every((address) => expected?.addresses.includes(address) === true);
  const because: Reason | undefined = then?.reason;
  const facts = { service, ...defined({ where }), before, from, sharedWith, after };
  if (one.problem !== undefined) return { ...facts, outcome: 'none', reason: one.problem };
  if (!pinned.hasPools)
    return { ...facts, after: [], outcome: before.length === 0 ? 'new' : one.isPinned || from === 'status' ? 'unknown' : 'another' };
  if (before.length === 0)
    return { ...facts, outcome: because?.code === 'InvalidRequest' ? 'none' : 'new', ...defined({ reason: textOf(because) }) };
  if (!isGiven(then))
    return {
      ...facts,
      outcome: 'none',
      reason: textOf(because) ?? `it would get ${then?.addresses.join(' and ') ?? 'none'}, which it asks for`,
    };
  if (!isGiven(now)) return { ...facts, outcome: 'another', ...(now?.reason === undefined ? {} : { reason: reasonText(now.reason) }) };
  return { ...facts, outcome: one.isPinned ? 'pinned' : from === 'status' ? 'kept' : 'another' };
}

const textOf = (because: Reason | undefined): string | undefined => {
  if (because === undefined) return undefined;
  const remedy = remedyText(because);
  return remedy === '' ? reasonText(because) : `${reasonText(because)} (${remedy})`;
};

/** Adds the annotations that pin the addresses, and says what is lost without them. */
function withPin(one: ImportedService, request: ServiceRequest | undefined, found: ServiceAddresses | undefined): ImportedService {
  if (request === undefined || found === undefined) return one;
  const remark = remarkOf(found);
  const isPinned = found.before.length > 0 && found.outcome !== 'none';
  return {
    ...one,
    annotations: { ...one.annotations, ...(isPinned ? request.annotations : {}) },
    ...(isPinned && request.withoutField ? { withoutField: true } : {}),
    remarks: remark === undefined ? one.remarks : [...one.remarks, remark],
  };
}

function remarkOf({ before, from, outcome, reason = '' }: ServiceAddresses): Remark | undefined {
  const field = from === 'status' ? 'status.loadBalancer' : 'spec';
  const verb = from === 'status' ? 'has' : 'asks for';
  const text = before.join(' and ');
  switch (outcome) {
    case 'another':
      return { level: 'differs', field, message: `${verb} ${text}, ${without(reason)}`, fix: 'run the command, which pins it' };
    case 'none':
      return {
        level: 'differs',
        field,
        message: `${before.length === 0 ? 'cannot be served' : `${verb} ${text}, which Herald would not give it`}: ${reason}`,
        fix: '',
      };
    case 'kept':
      return { level: 'note', field, message: `has ${text}, which Herald keeps while the status has it`, fix: 'the command pins it' };
    case 'pinned':
    case 'unknown':
    case 'new':
      return undefined;
  }
}

const without = (reason: string): string => (reason === '' ? 'and would get another address' : `which it would not get: ${reason}`);

/** Returns a line for each Service. */
export function renderAddresses(addresses: readonly ServiceAddresses[]): string[] {
  if (addresses.length === 0) return [];
  const lines = addresses.map((one) => {
    const place = one.where === undefined ? '' : ` (${one.where})`;
    const before = one.before.length === 0 ? 'no address' : `${one.from === 'status' ? 'has' : 'asks for'} ${one.before.join(' and ')}`;
    const shared = one.sharedWith.length === 0 ? '' : `, shared with ${one.sharedWith.join(' and ')}`;
    return `  ${one.service}${place}: ${before}${shared}; ${outcomeText(one)}`;
  });
  return ['addresses before, and of Herald:', ...lines];
}

function outcomeText({ outcome, after, reason = '' }: ServiceAddresses): string {
  const pools = [...new Set(after.flatMap(({ pool }) => pool ?? []))].join(' and ');
  const of = pools === '' ? '' : ` of IPAddressPool ${pools}`;
  switch (outcome) {
    case 'pinned':
      return `the same${of}: pinned`;
    case 'kept':
      return `the same${of} while its status has it: pin it`;
    case 'another':
      return reason === '' ? `would get another address: pin it, then the same${of}` : `would not get it: pin it, then the same${of}`;
    case 'unknown':
      return 'not known: no pool was imported';
    case 'none':
      return `none: ${reason}`;
    case 'new':
      return after.length > 0 ? `an address${of}` : `none: ${reason === '' ? 'no pool was imported' : reason}`;
  }
}
