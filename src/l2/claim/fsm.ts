/**
 * The life of one address on one interface of this node, as a pure function.
 *
 * - `standby`: another node owns the address, or no node may.
 * - `probing`: this node looks for a foreign host with the address before the first claim.
 * - `owner`: this node answers and announces.
 * - `keeping`: a better candidate lives. This node answers until it hears that one announce the address.
 * - `leaving`: this node is no candidate any more. It answers until it hears another node, for a second at most.
 * - `doubtful`: this node owned the address before it stalled or lost its link. It answers only other nodes, until silence shows that
 *   none of them has taken the address.
 * - `conflict`: a foreign host uses the address.
 */
export const claimStates = ['standby', 'probing', 'owner', 'keeping', 'leaving', 'doubtful', 'conflict'] as const;
export type ClaimState = (typeof claimStates)[number];

export const claimEvents = [
  /** This node is the best candidate that lives, and a node of ours had the address before. */
  'elected',
  /** This node is the best candidate that lives, and no node of ours ever had the address. */
  'electedFirst',
  /** A better candidate lives. */
  'deferred',
  /** This node is no candidate. */
  'excluded',
  /** A frame claims the address: from a better candidate, from another node of ours, from a host that is none of ours. */
  'heardBetter',
  'heardWorse',
  'heardForeign',
  /** The same, and the policy of the address is to withdraw. */
  'heardForeignWithdraw',
  /** A host that is none of ours asks whether the address is taken. */
  'foreignProbe',
  /** The last probe for a foreign host had no answer. */
  'probesSilent',
  /** This node stalled, or its link returned. */
  'doubt',
  /** No other node has taken the address meanwhile. */
  'confirmed',
  /** The time of this state is over. */
  'deadline',
  /** The process stops. */
  'stop',
] as const;
export type ClaimEvent = (typeof claimEvents)[number];

/**
 * The actions of the owner of the state machine.
 *
 * - `announce`: begin the schedule of announcements.
 * - `defend`: announce once, because another node of ours claims the address. `defendForeign`: the same against a foreign host.
 * - `probe`: begin to look for a foreign host.
 * - `checkLater`: ask soon whether the better candidate answers.
 * - `report`: tell the operator of the foreign host. `lookAgain`: find out whether that one is still there.
 */
export type ClaimEffect = 'announce' | 'defend' | 'defendForeign' | 'probe' | 'checkLater' | 'report' | 'lookAgain';

export interface Step {
  readonly state: ClaimState;
  readonly effects: readonly ClaimEffect[];
}

export function step(state: ClaimState, event: ClaimEvent): Step {
  return table[state][event];
}

/** True if clients get an answer. A doubtful node answers only the probes of other nodes. */
export function answersClients(state: ClaimState): boolean {
  return state === 'owner' || state === 'keeping' || state === 'leaving';
}

const to = (state: ClaimState, ...effects: ClaimEffect[]): Step => ({ state, effects });

/** The full matrix: every pair of state and event has an entry. */
const table: Readonly<Record<ClaimState, Readonly<Record<ClaimEvent, Step>>>> = {
  // The owner of the address settles conflicts.
  standby: {
    elected: to('owner', 'announce'),
    electedFirst: to('probing', 'probe'),
    deferred: to('standby'),
    excluded: to('standby'),
    heardBetter: to('standby'),
    heardWorse: to('standby'),
    heardForeign: to('standby'),
    heardForeignWithdraw: to('standby'),
    foreignProbe: to('standby'),
    probesSilent: to('standby'),
    doubt: to('standby'),
    confirmed: to('standby'),
    deadline: to('standby'),
    stop: to('standby'),
  },
  probing: {
    elected: to('owner', 'announce'),
    electedFirst: to('probing'),
    deferred: to('standby'),
    excluded: to('standby'),
    heardBetter: to('standby'),
    // A node of ours has the address, so no foreign host has it, and this node is better.
    heardWorse: to('owner', 'announce'),
    heardForeign: to('conflict', 'report'),
    heardForeignWithdraw: to('conflict', 'report'),
    foreignProbe: to('conflict', 'report'),
    probesSilent: to('owner', 'announce'),
    doubt: to('standby'),
    confirmed: to('probing'),
    deadline: to('probing'),
    stop: to('standby'),
  },
  owner: {
    elected: to('owner'),
    electedFirst: to('owner'),
    deferred: to('keeping'),
    excluded: to('leaving'),
    heardBetter: to('standby', 'checkLater'),
    heardWorse: to('owner', 'defend'),
    heardForeign: to('owner', 'defendForeign', 'report'),
    heardForeignWithdraw: to('conflict', 'report'),
    // The answer to its probe tells the host that the address is taken.
    foreignProbe: to('owner'),
    probesSilent: to('owner'),
    doubt: to('doubtful'),
    confirmed: to('owner'),
    deadline: to('owner', 'lookAgain'),
    stop: to('leaving'),
  },
  keeping: {
    // The better candidate failed before it announced the address, so clients still come here.
    elected: to('owner', 'announce'),
    electedFirst: to('owner', 'announce'),
    deferred: to('keeping'),
    excluded: to('leaving'),
    heardBetter: to('standby', 'checkLater'),
    heardWorse: to('keeping', 'defend'),
    heardForeign: to('keeping', 'defendForeign', 'report'),
    heardForeignWithdraw: to('conflict', 'report'),
    foreignProbe: to('keeping'),
    probesSilent: to('keeping'),
    doubt: to('doubtful'),
    confirmed: to('keeping'),
    deadline: to('keeping', 'lookAgain'),
    stop: to('leaving'),
  },
  leaving: {
    elected: to('owner', 'announce'),
    electedFirst: to('owner', 'announce'),
    deferred: to('keeping'),
    excluded: to('leaving'),
    heardBetter: to('standby'),
    heardWorse: to('standby'),
    heardForeign: to('standby', 'report'),
    heardForeignWithdraw: to('standby', 'report'),
    foreignProbe: to('leaving'),
    probesSilent: to('leaving'),
    doubt: to('standby'),
    confirmed: to('leaving'),
    deadline: to('standby'),
    stop: to('leaving'),
  },
  // A node that has stalled takes nothing from another one.
  doubtful: {
    elected: to('doubtful'),
    electedFirst: to('doubtful'),
    deferred: to('doubtful'),
    excluded: to('standby'),
    heardBetter: to('standby', 'checkLater'),
    heardWorse: to('standby'),
    heardForeign: to('doubtful', 'report'),
    heardForeignWithdraw: to('conflict', 'report'),
    foreignProbe: to('doubtful'),
    probesSilent: to('doubtful'),
    doubt: to('doubtful'),
    confirmed: to('owner', 'announce'),
    deadline: to('doubtful'),
    stop: to('standby'),
  },
  conflict: {
    elected: to('conflict'),
    electedFirst: to('conflict'),
    deferred: to('standby'),
    excluded: to('standby'),
    heardBetter: to('standby'),
    heardWorse: to('conflict'),
    heardForeign: to('conflict', 'report'),
    heardForeignWithdraw: to('conflict', 'report'),
    foreignProbe: to('conflict', 'report'),
    probesSilent: to('conflict'),
    doubt: to('conflict'),
    confirmed: to('conflict'),
    deadline: to('probing', 'probe'),
    stop: to('standby'),
  },
};
