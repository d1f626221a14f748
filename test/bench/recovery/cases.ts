import type { RecoveryBed } from '../../lab/recovery-bed.ts';
import {
  clearSessions,
  flapUntilHeldBack,
  loseConnections,
  loseConnectionsAndConnect,
  loseBgpInSilence,
  interruptLink,
  restartTor,
  duplicateAddress,
} from '../../lab/recovery-faults.ts';
import { longHoldTime, longKeepalive, type TermName } from './bounds.ts';

/** Milliseconds, in the order of `figures`. */
type Times = readonly number[];

export interface Case {
  readonly name: string;
  /** The measured times. `bound` names the terms whose sum is the maximum of a time. */
  readonly figures: readonly { readonly what: string; readonly bound: readonly TermName[] }[];
  /** Changes the settings of all sessions during the case. */
  readonly settings?: (manifest: string) => string;
  /** Maximum repetitions of a case that takes long. Absent: no limit of its own. */
  readonly atMost?: number;
  run(bed: RecoveryBed): Promise<Times>;
}

export const noDamping = (manifest: string): string => manifest.replaceAll('connectTime: 1s', 'connectTime: 1s, flapDamping: false');
/** Turns flap damping on. Also changes the hold time: this resets the sessions, so that flaps of earlier cases no longer count. */
const damped = (manifest: string): string => manifest.replaceAll(', flapDamping: false', '').replaceAll('holdTime: 3s', 'holdTime: 6s');
const longTimers = (manifest: string): string =>
  manifest.replaceAll('holdTime: 3s, keepaliveTime: 1s', `holdTime: ${longHoldTime}s, keepaliveTime: ${longKeepalive}s`);
const graceful = (manifest: string): string => manifest.replaceAll('connectTime: 1s', 'connectTime: 1s, enableGracefulRestart: true');

const torReroutes = 'the ToR sends elsewhere';
const nodesNoticed = 'the nodes have noticed';
const back = 'all sessions and routes are back';
const sessionsBack = 'all sessions are back';

export const cases: readonly Case[] = [
  {
    name: 'sessions are cleared on the ToR',
    figures: [{ what: sessionsBack, bound: ['connect', 'work'] }],
    run: async (bed) => [await clearSessions(bed)],
  },
  {
    name: 'the ToR restarts (FRR is killed and started)',
    figures: [
      { what: nodesNoticed, bound: ['work'] },
      { what: back, bound: ['connect', 'work'] },
    ],
    run: recoveryTimes(restartTor),
  },
  {
    name: 'the ToR restarts, with graceful restart at our end',
    settings: graceful,
    figures: [
      { what: nodesNoticed, bound: ['work'] },
      { what: back, bound: ['connect', 'work'] },
    ],
    run: recoveryTimes(restartTor),
  },
  link("a node's link is unplugged", 'unplugged'),
  link("a node's link is cut silently", 'cut'),
  {
    name: "the ToR's BGP is gone, without FIN or RST",
    figures: [
      { what: nodesNoticed, bound: ['hold', 'work'] },
      { what: back, bound: ['connect', 'syn', 'work'] },
    ],
    run: recoveryTimes(loseBgpInSilence),
  },
  {
    name: 'half-open connection, the ToR returns and waits',
    settings: longTimers,
    figures: [{ what: sessionsBack, bound: ['keepalive', 'resent', 'connect', 'work'] }],
    run: async (bed) => [(await loseConnections(bed)).back],
  },
  {
    name: 'half-open connection, the ToR connects with the R bit',
    atMost: 3,
    figures: [{ what: sessionsBack, bound: ['call', 'syn', 'work'] }],
    run: async (bed) => [(await loseConnectionsAndConnect(bed, [])).back],
  },
  {
    name: 'half-open connection, the ToR connects without the R bit',
    atMost: 3,
    figures: [{ what: sessionsBack, bound: ['call', 'syn', 'collision', 'resent', 'call', 'work'] }],
    run: async (bed) => [(await loseConnectionsAndConnect(bed, ['bgp graceful-restart-disable'])).back],
  },
  {
    name: "another machine has the node's address",
    figures: [
      { what: 'the node has noticed', bound: ['hold', 'work'] },
      { what: back, bound: ['connect', 'syn', 'work'] },
    ],
    run: async (bed) => {
      const taken = await duplicateAddress(bed);
      return [taken.noticed, taken.back];
    },
  },
  {
    name: "the ToR's bgpd is killed four times within seconds",
    atMost: 2,
    settings: damped,
    figures: [{ what: `${back}, after the fourth`, bound: ['held', 'work'] }],
    run: async (bed) => {
      await flapUntilHeldBack(bed);
      const held = Date.now();
      await bed.untilAll();
      return [Date.now() - held];
    },
  },
];

function link(name: string, how: 'unplugged' | 'cut'): Case {
  return {
    name,
    figures: [
      { what: torReroutes, bound: ['hold', 'work'] },
      { what: 'the node has noticed', bound: ['hold', 'work'] },
      { what: back, bound: ['connect', 'syn', 'work'] },
    ],
    run: async (bed) => {
      const times = await interruptLink(bed, how);
      return [times.noticedByTor, times.noticed, times.back];
    },
  };
}

function recoveryTimes(fault: (bed: RecoveryBed) => Promise<{ readonly noticed: number; readonly back: number }>): Case['run'] {
  return async (bed) => {
    const times = await fault(bed);
    return [times.noticed, times.back];
  };
}
