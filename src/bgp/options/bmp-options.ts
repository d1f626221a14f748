import type { Address } from '../../net/address.ts';
import type { AddressInput } from './peer-options.ts';

/**
 * A table of routes that a collector gets: those received from a peer, before (`adjRibInPre`) or after its import rules (`adjRibInPost`; only of
 * peers with rules), and those sent to it (`adjRibOut`, RFC 8671).
 */
export type BmpView = 'adjRibInPre' | 'adjRibInPost' | 'adjRibOut';

/** Seconds between two reports of statistics. */
const defaultStatisticsTime = 60;

export const bmpViews: readonly BmpView[] = ['adjRibInPre', 'adjRibInPost', 'adjRibOut'];

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
export interface ResolvedBmp {
  readonly host: Address;
  readonly port: number;
  readonly views: readonly BmpView[];
  readonly systemName: string;
  readonly systemDescription: string;
  readonly statisticsTime: number;
}

/** Returns the options with their defaults, or in words why they cannot work. */
export function resolveBmp(options: BmpOptions, host: Address, hostName: string): ResolvedBmp | string {
  const { port, views = bmpViews, systemName = hostName, systemDescription = 'Herald', statisticsTime = defaultStatisticsTime } = options;
  if (!Number.isInteger(port) || port < 1 || port > 65_535) return 'port is a number from 1 to 65535';
  const unknown = views.find((view) => !bmpViews.includes(view));
  if (unknown !== undefined) return `${JSON.stringify(unknown)} is no view: ${bmpViews.join(', ')}`;
  if (views.length === 0) return 'views names at least one of adjRibInPre, adjRibInPost and adjRibOut';
  if (statisticsTime !== 0 && !(statisticsTime >= 1 && statisticsTime <= 86_400)) return 'statisticsTime is 0 or from 1 to 86400 seconds';
  return { host, port, views: [...new Set(views)], systemName, systemDescription, statisticsTime };
}
