/** Effect of an event: it gives something, takes it away, or neither. */
type Tone = 'good' | 'bad' | '';

/**
 * The names of the events of the history. Besides, the controller records the reason code of a warning (docs/reference/reasons.md): those that
 * have a tone are here too.
 */
export const historyEvents = {
  // Agents, about a Service.
  Announced: 'good',
  Withdrawn: 'bad',
  /** Attributes of its routes. */
  Changed: '',
  /** The kernel has other frontends or endpoints. */
  Programmed: 'good',
  /** The kernel has no frontend any more. */
  Removed: 'bad',
  Refused: 'bad',
  /** After Refused. */
  Accepted: 'good',
  /** The node began to answer ARP or NDP for an address. */
  Owner: 'good',
  /** The node ceased to answer. */
  NotOwner: 'bad',
  /** Another host uses an address. */
  Conflict: 'bad',
  ConflictEnded: 'good',
  /** Another node claims an address again and again. */
  Disputed: 'bad',

  // Agents, about a BGPPeer.
  SessionUp: 'good',
  SessionDown: 'bad',

  // Agents, about their node. Withdrawn is recorded too.
  Draining: 'bad',
  /** The settle time of its drain is over, and routes are left. */
  Settled: '',
  Drained: '',
  DrainEnded: 'good',
  Stalled: 'bad',
  Suspended: 'bad',
  Resumed: 'good',
  Isolated: 'bad',
  Rejoined: 'good',

  // The controller: reasons of its Events about Services (docs/reference/events.md). It records Announced and Programmed too.
  AddressAssigned: 'good',
  AddressChanged: '',
  AddressHeldTwice: '',
  AddressReleased: '',
  /** A provider may have a reason of its own, which has no tone. */
  ProviderNotice: '',
  LoadBalancerRepaired: '',
  AddressOwnerChanged: '',
  InvalidService: '',
  StatusWriteRefused: 'bad',
  NotProgrammed: 'bad',
} as const satisfies Readonly<Record<string, Tone>>;

export type HistoryEventName = keyof typeof historyEvents;

/** Returns the tone of an event. A name that the table lacks has none: it is a reason code, or of a process of another version. */
export function toneOf(what: string): Tone {
  return Object.hasOwn(historyEvents, what) ? historyEvents[what as HistoryEventName] : '';
}
