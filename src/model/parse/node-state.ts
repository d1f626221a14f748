import { passingWays } from '../../net/direct-return.ts';
import { parsePrefix } from '../../net/prefix.ts';
import { limits } from '../limits.ts';
import type { ServiceKey } from '../metadata.ts';
import type { DirectReturnReport, NodeState, ServiceDifference, SessionStatus } from '../node-state.ts';
import { catalogue, reason, says, type Reason } from '../reasons.ts';
import { isRecord, type Fields } from './fields.ts';
import { readMetadata } from './metadata.ts';
import type { ParseOptions, Read } from './result.ts';

const states = ['Idle', 'Connect', 'Active', 'OpenSent', 'OpenConfirm', 'Established'] as const;

/** What another agent wrote, perhaps one of another version: fields and reasons that are not known here do no harm. */
export function readNodeState(fields: Fields, options: ParseOptions): Read<NodeState> {
  const metadata = readMetadata(fields, 'NodeState', 'cluster', options);
  const status = fields.object('status');
  const updated = status.text('updated') ?? '';
  const written = Object.entries(status.textMap('consumed'));
  const consumed = Object.fromEntries(written.filter(([, version]) => /^[0-9]{1,40}$/.test(version)));
  const sessions = status.objects('sessions', limits.sessions).flatMap((item) => readSession(item) ?? []);
  const differing = status.objects('differing', limits.differing).flatMap((item) => readDifference(item) ?? []);
  const truncated = status.boolean('truncated') === true;
  const problem = status.has('problem') ? readReason(status.object('problem')) : undefined;
  const host = status.objects('host', limits.hostReasons).map(readReason);
  const directReturn = status.has('directReturn') ? readDirectReturn(status.object('directReturn')) : undefined;
  if (metadata === undefined) return {};
  return {
    object: {
      kind: 'NodeState',
      metadata,
      updated,
      consumed,
      sessions,
      differing,
      ...(truncated ? { truncated } : {}),
      ...(problem === undefined ? {} : { problem }),
      ...(host.length === 0 ? {} : { host }),
      ...(directReturn === undefined ? {} : { directReturn }),
    },
  };
}

function readDirectReturn(fields: Fields): DirectReturnReport {
  const known = <T extends string>(name: string, of: readonly T[]): T[] => {
    const written = new Set(fields.texts(name, limits.names));
    return of.filter((word) => written.has(word));
  };
  const mtu = fields.integer('mtu', 68, 2 ** 31 - 1);
  return {
    ...(mtu === undefined ? {} : { mtu }),
    receives: known('receives', ['link', 'vxlan']),
    passes: known('passes', passingWays),
    networks: fields.parsedList('networks', limits.nodeAddresses, parsePrefix),
    linkAddresses: fields.texts('linkAddresses', limits.nodeAddresses).filter((text) => /^[0-9a-f]{2}(:[0-9a-f]{2}){5}$/.test(text)),
    interfaces: fields.texts('interfaces', limits.nodeAddresses).filter((text) => /^[^\s/]{1,15}$/.test(text)),
  };
}

function readSession(item: Fields): SessionStatus | undefined {
  const state = item.oneOf('state', states);
  const lastError = item.text('lastError') ?? '';
  const networkInterface = item.text('interface') ?? '';
  if (state === undefined) return undefined;
  return {
    peer: item.text('peer') ?? '',
    address: item.text('address') ?? '',
    ...(networkInterface === '' ? {} : { interface: networkInterface }),
    state,
    since: item.text('since') ?? '',
    localASN: item.integer('localASN', 0, 2 ** 32 - 1) ?? 0,
    peerASN: item.integer('peerASN', 0, 2 ** 32 - 1) ?? 0,
    prefixesSent: item.integer('prefixesSent', 0, Number.MAX_SAFE_INTEGER) ?? 0,
    ...(lastError === '' ? {} : { lastError }),
  };
}

function readDifference(item: Fields): ServiceDifference | undefined {
  const service = item.text('service') ?? '';
  const aspect = item.oneOf('aspect', ['Programmed', 'Announced', 'HealthCheck']);
  const read = readReason(item.object('reason'));
  return aspect === undefined || !/^[^/]+\/[^/]+$/.test(service) ? undefined : { service: service as ServiceKey, aspect, reason: read };
}

/** A code or details that this version does not know become UnknownReason, with the text that the writer gave. */
function readReason(item: Fields): Reason {
  const code = item.text('code') ?? '';
  const text = item.text('message') ?? '';
  const details = item.raw('details');
  if (!Object.hasOwn(catalogue, code)) return reason('UnknownReason', { code, text });
  const known = { code, details: isRecord(details) ? details : {} } as unknown as Reason;
  return canSay(known) ? known : reason('UnknownReason', { code, text });
}

/** Whether the details are what the catalogue's texts need: each is a number, a text or true or false, and none is missing. */
function canSay(known: Reason): boolean {
  if (!Object.values(known.details as object).every((value: unknown) => ['string', 'number', 'boolean'].includes(typeof value)))
    return false;
  try {
    return !says(known).includes('undefined');
  } catch {
    return false;
  }
}
