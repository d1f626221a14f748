import { hostname } from 'node:os';
import { parseAddress, type Address } from '../../../net/address.ts';
import { refuseUnknownOptions } from '../../options/known-options.ts';
import type { AddressInput } from '../../options/peer-options.ts';
import { SpeakerError } from '../../options/speaker-options.ts';

/**
 * A table of routes that a collector gets: those received from a peer, before (`adjRibInPre`) or after its import rules (`adjRibInPost`; only of
 * peers with rules), and those sent to it (`adjRibOut`, RFC 8671).
 */
export type BmpView = 'adjRibInPre' | 'adjRibInPost' | 'adjRibOut';

/** Seconds between two reports of statistics. */
const defaultStatisticsTime = 60;

const bmpViews: readonly BmpView[] = ['adjRibInPre', 'adjRibInPost', 'adjRibOut'];

/** The collector that a speaker reports to by the BGP Monitoring Protocol (RFC 7854). */
export interface BmpOptions {
  /** The address of the collector. */
  readonly host: AddressInput;
  readonly port: number;
  /** Default: all three. */
  readonly views?: readonly BmpView[];
  /** The name of this system in the first message. Default: the host name. */
  readonly systemName?: string;
  /** A description of this system in the first message. Default: "Herald". */
  readonly systemDescription?: string;
  /** Seconds between two reports of statistics about each peer, from 1; 0: none. Default 60. */
  readonly statisticsTime?: number;
}

/** The options with parsed values and all defaults filled in. */
export interface ResolvedBmp extends Required<BmpOptions> {
  readonly host: Address;
}

/** Parses text and fills in defaults. Throws SpeakerError, and UnknownOptionError. */
export function resolveBmp(options: BmpOptions): ResolvedBmp {
  const known = { host: 0, port: 0, views: 0, systemName: 0, systemDescription: 0, statisticsTime: 0 };
  refuseUnknownOptions<BmpOptions>('speaker', options, known, 'bmp.');
  const { port, views = bmpViews, systemName = hostname(), systemDescription = 'Herald' } = options;
  const { statisticsTime = defaultStatisticsTime } = options;
  const host = readHost(options.host);
  if (!Number.isInteger(port) || port < 1 || port > 65_535) throw refused('port is a number from 1 to 65535');
  const unknown = views.find((view) => !bmpViews.includes(view));
  if (unknown !== undefined) throw refused(`${JSON.stringify(unknown)} is no view: ${bmpViews.join(', ')}`);
  if (views.length === 0) throw refused('views names at least one of adjRibInPre, adjRibInPost and adjRibOut');
  const isTime = statisticsTime === 0 || (statisticsTime >= 1 && statisticsTime <= 86_400);
  if (!isTime) throw refused('statisticsTime is 0 or from 1 to 86400 seconds');
  return { host, port, views: [...new Set(views)], systemName, systemDescription, statisticsTime };
}

function readHost(host: AddressInput): Address {
  if (typeof host !== 'string') return host;
  const result = parseAddress(host);
  if (!result.ok) throw refused(`${JSON.stringify(host)}: ${result.problem}`);
  return result.value;
}

const refused = (problem: string): SpeakerError => new SpeakerError('ERR_BGP_SPEAKER_OPTIONS', `bmp: ${problem}`);
