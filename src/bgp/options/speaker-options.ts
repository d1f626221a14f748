import { defined } from '../../lang/defined.ts';
import { parseAddress, type Address } from '../../net/address.ts';
import { systemClock, type Clock } from '../../system/clock.ts';
import { silentLog, type Log } from '../../system/log.ts';
import { systemRandom, type Random } from '../../system/random.ts';
import type { BgpComponents } from './components.ts';
import { refuseUnknownOptions, type OptionNames } from './known-options.ts';
import { isAsn, isInterfaceName, type AddressInput, type PeerDefaults } from './peer-options.ts';
import { linuxTransport } from '../transport/linux.ts';
import type { Transport } from '../transport/transport.ts';

/** An address and port where a speaker listens for peers. */
export interface ListenAddress {
  /** Default: all addresses of both families. */
  readonly address?: Address;
  /** Default 179. 0 lets the kernel choose. */
  readonly port?: number;
  /** Take connections in this VRF, by the name of its device. Default: those in no VRF. */
  readonly vrf?: string;
}

/** The options of a speaker, except for its `onChange` listener. */
export interface SpeakerSettings {
  /** AS number of peers without `localAsn`. */
  readonly asn?: number;
  /** BGP identifier for peers without `routerId`: an IPv4 address other than 0.0.0.0, unique in the AS. */
  readonly routerId?: AddressInput;
  /** Addresses where peers may connect. Default: none, and passive peers are refused. */
  readonly listen?: readonly ListenInput[];
  /**
   * This process follows an earlier one that announced the same routes, and forwarding went on meanwhile. Peers with graceful restart then
   * keep using the routes that they kept (RFC 4724 4.1). Default false: they drop them. A function is called whenever a peer is added, for
   * programs that learn the answer later.
   */
  readonly restarted?: boolean | (() => boolean);
  /** Default: none. */
  readonly log?: Log;
  /** Default: `linuxTransport()`. */
  readonly transport?: Transport;
  /** Default: the system's clock. */
  readonly clock?: Clock;
  /** Default: the system's random numbers. */
  readonly random?: Random;
}

export interface ListenInput extends Omit<ListenAddress, 'address'> {
  /** Default: all addresses of both families. */
  readonly address?: AddressInput;
}

/** An option that cannot work, or a call that the speaker refuses in its present state. */
export class SpeakerError extends Error {
  readonly code: 'ERR_BGP_SPEAKER_OPTIONS' | 'ERR_BGP_PEER_EXISTS' | 'ERR_BGP_TOO_MANY_PEERS' | 'ERR_BGP_STOPPED';

  constructor(code: SpeakerError['code'], message: string) {
    super(message);
    this.name = 'SpeakerError';
    this.code = code;
  }
}

const speakerOptionNames: OptionNames<SpeakerSettings> = {
  asn: 0,
  routerId: 0,
  listen: 0,
  restarted: 0,
  log: 0,
  transport: 0,
  clock: 0,
  random: 0,
};

/** Throws UnknownOptionError. `others`: options that the caller reads itself. */
export function refuseUnknownSettings<T extends SpeakerSettings>(options: T, others: OptionNames<Omit<T, keyof SpeakerSettings>>): void {
  refuseUnknownOptions<SpeakerSettings>('speaker', options, { ...speakerOptionNames, ...others });
}

/** Fills in the defaults for clock, random numbers, log and transport. */
export function componentsOf(options: SpeakerSettings): BgpComponents {
  const { clock = systemClock, random = systemRandom, log = silentLog } = options;
  return { clock, random, transport: options.transport ?? linuxTransport({ clock, random }), log };
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

/** Throws SpeakerError, and UnknownOptionError. */
export function listenAddressesOf({ listen = [] }: Pick<SpeakerSettings, 'listen'>): ListenAddress[] {
  for (const one of listen) {
    refuseUnknownOptions<ListenInput>('speaker', one, { address: 0, port: 0, vrf: 0 }, 'listen.');
    if (one.vrf !== undefined && !isInterfaceName(one.vrf)) throw refused('listen', `${JSON.stringify(one.vrf)} is not the name of a VRF`);
  }
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
