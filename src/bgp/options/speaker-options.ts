import { defined } from '../../lang/defined.ts';
import type { Address } from '../../net/address.ts';
import { parseAddress } from '../../net/address.ts';
import { systemClock, type Clock } from '../../system/clock.ts';
import { silentLog, type Log } from '../../system/log.ts';
import { systemRandom, type Random } from '../../system/random.ts';
import type { BgpComponents } from './components.ts';
import { isAsn, type AddressInput, type PeerDefaults } from './peer-options.ts';
import { RibStore } from '../rib/rib-store.ts';
import { linuxTransport } from '../transport/linux.ts';
import type { Transport } from '../transport/transport.ts';

/** Where a speaker waits for its peers. */
export interface ListenAddress {
  /** Default: every address of both families. */
  readonly address?: Address;
  /** Default 179; 0 lets the kernel choose. */
  readonly port?: number;
}

/** The options of a speaker, except for its listener for peers. */
export interface SpeakerSettings {
  /** The AS number of peers that have no `localAsn` of their own. */
  readonly asn?: number;
  /** The identifier towards peers that have no `routerId` of their own: an IPv4 address other than 0.0.0.0, unique in the AS. */
  readonly routerId?: AddressInput;
  /** Where peers may connect. Default: nowhere, and passive peers are refused. */
  readonly listen?: readonly ListenInput[];
  /**
   * This process follows another that announced the same routes, and forwarding went on meanwhile: peers with graceful restart
   * that kept the routes go on using them (RFC 4724 4.1). Default false: they drop what they kept. A function is asked whenever a
   * peer is added, for a program that cannot know before.
   */
  readonly restarted?: boolean | (() => boolean);
  /** Default: none. */
  readonly log?: Log;
  /** Default: `linuxTransport()`. */
  readonly transport?: Transport;
  /** Default: the system's. */
  readonly clock?: Clock;
  /** Default: the system's. */
  readonly random?: Random;
}

export interface ListenInput extends Omit<ListenAddress, 'address'> {
  /** Default: every address of both families. */
  readonly address?: AddressInput;
}

/** What the speaker refuses: options, or an operation in its present state. */
export class SpeakerError extends Error {
  readonly code: 'ERR_BGP_SPEAKER_OPTIONS' | 'ERR_BGP_PEER_EXISTS' | 'ERR_BGP_TOO_MANY_PEERS' | 'ERR_BGP_STOPPED';

  constructor(code: SpeakerError['code'], message: string) {
    super(message);
    this.name = 'SpeakerError';
    this.code = code;
  }
}

/** Fills in what a program on a real machine has no opinion about. */
export function componentsOf(options: SpeakerSettings): BgpComponents {
  const { clock = systemClock, random = systemRandom, log = silentLog } = options;
  return { clock, random, transport: options.transport ?? linuxTransport({ clock, random }), log, store: new RibStore() };
}

/** Throws SpeakerError. */
export function peerDefaultsOf({ asn, routerId: given }: SpeakerSettings): PeerDefaults {
  if (asn !== undefined && !isAsn(asn)) throw refused('asn', 'an AS number is from 1 to 4294967295, but not 23456 (AS_TRANS)');
  const routerId = given === undefined ? undefined : toAddress('routerId', given);
  if (routerId !== undefined && (routerId.family !== 4 || routerId.value === 0n)) {
    throw refused('routerId', 'a router ID is an IPv4 address other than 0.0.0.0');
  }
  return { ...defined({ localAsn: asn, routerId }) };
}

/** Throws SpeakerError. */
export function listenAddressesOf({ listen = [] }: Pick<SpeakerSettings, 'listen'>): ListenAddress[] {
  return listen.map(({ address, ...rest }) => (address === undefined ? rest : { ...rest, address: toAddress('listen', address) }));
}

function toAddress(option: keyof SpeakerSettings, address: AddressInput): Address {
  if (typeof address !== 'string') return address;
  const result = parseAddress(address);
  if (!result.ok) throw refused(option, `${JSON.stringify(address)}: ${result.problem}`);
  return result.value;
}

const refused = (option: keyof SpeakerSettings, problem: string): SpeakerError =>
  new SpeakerError('ERR_BGP_SPEAKER_OPTIONS', `${option}: ${problem}`);
