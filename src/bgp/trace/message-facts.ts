import { defined } from '../../lang/defined.ts';
import { formatAddress } from '../../net/address.ts';
import { formatPrefix } from '../../net/prefix.ts';
import { formatCommunity } from '../options/community-text.ts';
import { describeCapability } from '../negotiation/open-status.ts';
import { decodeMessage, type Message, type WireSession } from '../wire/message.ts';
import type { AsPathSegment } from '../wire/attributes/as-path.ts';
import type { PathAttributes } from '../wire/attributes/decode-attributes.ts';
import { errorName, familyName, refreshSubtype, afi } from '../wire/codes.ts';
import { innermost, shutdownMessageOf } from '../wire/notification.ts';
import { nextHopsOf, readPaths, type Nlri } from '../wire/nlri.ts';

/** The content of a message as plain values. */
export type MessageFacts =
  | {
      readonly kind: 'OPEN';
      readonly version: number;
      /** The AS number of the four-octet capability if there is one, else that of the OPEN. */
      readonly asn: number;
      /** In seconds. */
      readonly holdTime: number;
      readonly routerId: string;
      /** In words, in the order of the message. */
      readonly capabilities: readonly string[];
    }
  | UpdateFacts
  /** `code` and `subcode`: for a Hard Reset those that it carries (RFC 8538). `name` then has both. */
  | { readonly kind: 'NOTIFICATION'; readonly code: number; readonly subcode: number; readonly name: string; readonly text?: string }
  | { readonly kind: 'KEEPALIVE' }
  | { readonly kind: 'ROUTE-REFRESH'; readonly family: string; readonly subtype: 'request' | 'begin' | 'end' | number }
  /** `problem`: the error that a NOTIFICATION would report. */
  | { readonly kind: 'malformed'; readonly problem: string };

export interface UpdateFacts {
  readonly kind: 'UPDATE';
  readonly announced: readonly PathFacts[];
  readonly withdrawn: readonly PathFacts[];
  readonly attributes: AttributeFacts;
  /** End-of-RIB of a family (RFC 4724 2), for example "IPv4 unicast". */
  readonly endOfRib?: string;
  /** Errors that were tolerated (RFC 7606). */
  readonly faults: readonly string[];
}

export interface PathFacts {
  readonly prefix: string;
  /** The path identifier (RFC 7911). */
  readonly pathId?: number;
  /** Of an announcement: the global address, followed by the link-local one if there are both. */
  readonly nextHops?: readonly string[];
}

export interface AttributeFacts {
  readonly origin?: 'IGP' | 'EGP' | 'incomplete' | number;
  /** In the notation of routers: sets in braces, confederations in parentheses. */
  readonly asPath?: string;
  readonly med?: number;
  readonly localPref?: number;
  readonly communities?: readonly string[];
  readonly atomicAggregate?: true;
  readonly aggregator?: string;
  readonly originatorId?: string;
  readonly clusterList?: readonly string[];
  readonly onlyToCustomer?: number;
  /** Types of attributes that this codec does not decode. */
  readonly other?: readonly number[];
}

/** Reads one whole message, with its header. */
export function messageFacts(octets: Uint8Array, session: WireSession): MessageFacts {
  const message = decodeMessage(octets, session);
  return message.ok ? factsOf(message.value) : { kind: 'malformed', problem: message.fault.problem };
}

function factsOf(message: Message): MessageFacts {
  switch (message.kind) {
    case 'open': {
      const { version, holdTime, capabilities } = message;
      const wide = capabilities.find((capability) => capability.kind === 'fourOctetAsn');
      const routerId = identifier(message.routerId);
      return {
        kind: 'OPEN',
        version,
        asn: wide?.asn ?? message.asn,
        holdTime,
        routerId,
        capabilities: capabilities.map(describeCapability),
      };
    }
    case 'update': {
      const { announced, withdrawn, attributes, endOfRib, faults } = message;
      return {
        kind: 'UPDATE',
        announced: announced.flatMap(pathsOf),
        withdrawn: withdrawn.flatMap(pathsOf),
        attributes: attributeFacts(attributes),
        ...(endOfRib === undefined ? {} : { endOfRib: familyName(endOfRib === 4 ? afi.ipv4 : afi.ipv6, 1) }),
        faults: faults.map(({ problem }) => problem),
      };
    }
    case 'notification': {
      const { code, subcode, data } = innermost(message);
      const isWrapped = code !== message.code || subcode !== message.subcode;
      const name = `${isWrapped ? `${errorName(message.code, message.subcode)} of ` : ''}${errorName(code, subcode)}`;
      const text = shutdownMessageOf({ code, subcode, data });
      return { kind: 'NOTIFICATION', code, subcode, name, ...defined({ text }) };
    }
    case 'keepalive':
      return { kind: 'KEEPALIVE' };
    case 'routeRefresh':
      return {
        kind: 'ROUTE-REFRESH',
        family: familyName(message.afi, message.safi),
        subtype: subtypeNames[message.subtype] ?? message.subtype,
      };
  }
}

const subtypeNames: Readonly<Record<number, 'request' | 'begin' | 'end'>> = {
  [refreshSubtype.request]: 'request',
  [refreshSubtype.begin]: 'begin',
  [refreshSubtype.end]: 'end',
};

function pathsOf(nlri: Nlri): PathFacts[] {
  const nextHops = nlri.nextHop === undefined ? {} : { nextHops: nextHopsOf(nlri.nextHop).map(formatAddress) };
  return [...readPaths(nlri)].map(({ prefix, pathId }) => ({
    prefix: formatPrefix(prefix),
    ...defined({ pathId }),
    ...nextHops,
  }));
}

const origins = ['IGP', 'EGP', 'incomplete'] as const;

function attributeFacts(attributes: PathAttributes): AttributeFacts {
  const { origin, asPath, med, localPref, communities, atomicAggregate, aggregator, originatorId, clusterList, onlyToCustomer, other } =
    attributes;
  return {
    ...(origin === undefined ? {} : { origin: origins[origin] ?? origin }),
    ...(asPath === undefined ? {} : { asPath: asPathText(asPath) }),
    ...defined({ med, localPref }),
    ...(communities === undefined ? {} : { communities: communities.map(formatCommunity) }),
    ...defined({ atomicAggregate }),
    ...(aggregator === undefined ? {} : { aggregator: `${aggregator.asn} ${identifier(aggregator.routerId)}` }),
    ...(originatorId === undefined ? {} : { originatorId: identifier(originatorId) }),
    ...(clusterList === undefined ? {} : { clusterList: clusterList.map(identifier) }),
    ...defined({ onlyToCustomer }),
    ...(other === undefined ? {} : { other: other.map(({ type }) => type) }),
  };
}

function asPathText(segments: readonly AsPathSegment[]): string {
  const around = { sequence: ['', ''], set: ['{', '}'], confederationSequence: ['(', ')'], confederationSet: ['({', '})'] } as const;
  return segments.map(({ kind, asns }) => `${around[kind][0]}${asns.join(' ')}${around[kind][1]}`).join(' ');
}

const identifier = (value: number): string => formatAddress({ family: 4, value: BigInt(value) });
