import { setImmediate } from 'node:timers/promises';
import { AnnouncedRoutes } from '../../../../src/agent/reconcile/announced-routes.ts';
import { BgpSessions } from '../../../../src/agent/sessions/bgp-sessions.ts';
import { Speaker } from '../../../../src/bgp/index.ts';
import type { SessionStatus } from '../../../../src/model/objects/node-state.ts';
import { silentLog } from '../../../../src/system/log.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';
import { cluster, type BfdProfileLiteral, type ClusterLiteral, type PeerLiteral } from '../../decisions/fixtures.ts';
import { FakeBfd } from '../fakes/fake-bfd.ts';
import { Routers } from '../fakes/routers.ts';

export const fast = { name: 'fast', transmitInterval: 50, receiveInterval: 60, detectMultiplier: 5 };

/** The sessions of node n1, with routers that answer at once and a BFD that the test controls. */
export class BfdTestbed {
  readonly clock = new VirtualClock();
  readonly routers = new Routers(this.clock);
  readonly bfd = new FakeBfd();
  readonly sessions: BgpSessions;
  /** Number of starts of BFD. */
  started = 0;
  /** Number of status changes. */
  statusChanges = 0;

  constructor(start?: () => FakeBfd) {
    const speaker = new Speaker({ clock: this.clock, random: () => 0.5, transport: this.routers.transport });
    const startBfd = (): FakeBfd => {
      this.started++;
      return start?.() ?? this.bfd;
    };
    const components = { speaker, clock: this.clock, log: silentLog, startBfd };
    this.sessions = new BgpSessions(components, new AnnouncedRoutes(), () => void this.statusChanges++);
  }

  async reconcile(
    peers: readonly PeerLiteral[],
    bfdProfiles: readonly BfdProfileLiteral[] = [fast],
    more: Pick<ClusterLiteral, 'running'> = {},
  ): Promise<void> {
    this.sessions.reconcile(cluster({ nodes: [{ name: 'n1' }], peers, bfdProfiles, ...more }), 'n1');
    await this.exchange();
  }

  /** Lets promises and packets proceed. */
  async exchange(milliseconds = 0): Promise<void> {
    for (const advance of [0, milliseconds]) {
      this.clock.advance(advance);
      for (let i = 0; i < 3; i++) {
        this.routers.exchange();
        await setImmediate();
      }
    }
  }

  /** The status of the only session. */
  status(): SessionStatus | undefined {
    return this.sessions.status()[0];
  }
}
