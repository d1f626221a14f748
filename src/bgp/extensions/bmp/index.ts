/** Reports the sessions and routes of a speaker to a collector by the BGP Monitoring Protocol (RFC 7854, RFC 8671). */
import { SpeakerError } from '../../options/speaker-options.ts';
import type { SpeakerExtension } from '../../session/monitored-session.ts';
import { resolveBmp, type BmpOptions } from './bmp-options.ts';
import type { BmpStatus } from './collector.ts';
import { BmpExporter } from './exporter.ts';

export type { BmpOptions, BmpView } from './bmp-options.ts';
export type { BmpStatus } from './collector.ts';

/** The export of one speaker. */
export interface Bmp extends SpeakerExtension {
  /** Returns the state of the connection to the collector. Undefined before a speaker was created with the extension. */
  status(): BmpStatus | undefined;
}

/**
 * Makes the extension for the option `extensions` of one speaker. Throws SpeakerError for an option that cannot work, UnknownOptionError for a key
 * that is none.
 */
export function bmp(options: BmpOptions): Bmp {
  const resolved = resolveBmp(options);
  let exporter: BmpExporter | undefined;
  return {
    status: () => exporter?.status(),
    start: (components) => {
      if (exporter !== undefined) throw new SpeakerError('ERR_BGP_SPEAKER_OPTIONS', 'extensions: another speaker has this bmp()');
      exporter = new BmpExporter(components, resolved);
    },
    peerAdded: (name, session) => exporter?.add(name, session),
    peerRemoved: (name) => exporter?.remove(name),
    stop: async () => await exporter?.stop(),
  };
}
