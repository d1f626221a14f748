import type { Clock } from '../../system/clock.ts';
import type { Log } from '../../system/log.ts';
import type { Random } from '../../system/random.ts';
import type { RibStore } from '../rib/rib-store.ts';
import type { Transport } from '../transport/transport.ts';

/** The clock, network and other parts that a speaker passes to its peers and sessions. */
export interface BgpComponents {
  readonly clock: Clock;
  readonly random: Random;
  readonly transport: Transport;
  readonly log: Log;
  /** The storage shared by the RIBs of all peers. Default: each RIB has its own. */
  readonly store?: RibStore;
}
