import { isLinkLocal } from '../../net/address.ts';
import { formatPrefix, parsePrefix, type Prefix } from '../../net/prefix.ts';
import { maximumGroupRanges, maximumPeers as mostPeers } from '../limits.ts';
import { refuseUnknownOptions } from './known-options.ts';
import { fieldClass, type PeerOptions } from './peer-options.ts';

/** Options of the members that a group determines itself. */
type OfMember = 'name' | 'address' | 'interface' | 'port' | 'passive' | 'sourceAddress' | 'connectRetryTime';

/** A group of passive peers that are not known by their address: each connection from one of the ranges becomes a peer. */
export interface PeerGroupOptions extends Omit<PeerOptions, OfMember> {
  /** Unique in a speaker. A member is named "NAME/ADDRESS". */
  readonly name: string;
  /** The addresses from which peers may connect, such as "10.0.0.0/24". */
  readonly ranges: readonly (Prefix | string)[];
  /** The largest number of members. Further connections are refused. Default 100. */
  readonly maximumPeers?: number;
  /** Seconds after which a member without a session is removed. Default 120, and not less than the restart time. */
  readonly idleTime?: number;
}

export interface ResolvedPeerGroup {
  readonly name: string;
  readonly ranges: readonly Prefix[];
  readonly maximumPeers: number;
  /** In seconds. */
  readonly idleTime: number;
  /** The options of all members, without name and address. */
  readonly member: Omit<PeerOptions, 'name' | 'address'>;
}

/** An option of a peer group that cannot work. `field` names it. */
export class PeerGroupError extends Error {
  readonly code = 'ERR_BGP_PEER_GROUP';
  readonly field: 'name' | 'ranges' | 'maximumPeers' | 'idleTime';

  constructor(field: PeerGroupError['field'], message: string) {
    super(`${field}: ${message}`);
    this.name = 'PeerGroupError';
    this.field = field;
  }
}

const defaultMembers = 100;
const defaultIdleTime = 120;

/** Throws PeerGroupError, and UnknownOptionError. The options of the members are checked with the first of them. */
export function resolvePeerGroup(options: PeerGroupOptions): ResolvedPeerGroup {
  const { address: _a, interface: _i, port: _p, passive: _v, sourceAddress: _s, connectRetryTime: _c, ...ofPeers } = fieldClass;
  refuseUnknownOptions<PeerGroupOptions>('peer group', options, { ...ofPeers, ranges: 0, maximumPeers: 0, idleTime: 0 });
  const { name, ranges, maximumPeers = defaultMembers, idleTime, ...member } = options;
  const restartTime = options.gracefulRestart === undefined ? 0 : (options.gracefulRestart.restartTime ?? defaultIdleTime);
  const idle = Math.max(idleTime ?? defaultIdleTime, restartTime);
  if (typeof name !== 'string' || name === '') throw new PeerGroupError('name', 'a group needs a name');
  if (!Number.isInteger(maximumPeers) || maximumPeers < 1 || maximumPeers > mostPeers) {
    throw new PeerGroupError('maximumPeers', `is from 1 to ${mostPeers}`);
  }
  if (!(idle >= 1 && idle <= 86_400)) throw new PeerGroupError('idleTime', 'is from 1 to 86400 seconds');
  return { name, ranges: readRanges(ranges), maximumPeers, idleTime: idle, member: { ...member, passive: true } };
}

function readRanges(ranges: PeerGroupOptions['ranges']): Prefix[] {
  if (ranges.length === 0 || ranges.length > maximumGroupRanges) {
    throw new PeerGroupError('ranges', `a group has from 1 to ${maximumGroupRanges} ranges`);
  }
  return ranges.map((range) => {
    const parsed = typeof range === 'string' ? parsePrefix(range) : { ok: true as const, value: range };
    if (!parsed.ok) throw new PeerGroupError('ranges', `${JSON.stringify(range)}: ${parsed.problem}`);
    if (isLinkLocal(parsed.value.address))
      throw new PeerGroupError('ranges', `${formatPrefix(parsed.value)} is link-local: use a peer with an interface`);
    return parsed.value;
  });
}
