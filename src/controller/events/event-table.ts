/** One kind of Event. `reason` undefined: the code of the "no", as the condition has it. */
interface EventKind {
  readonly type: 'Normal' | 'Warning';
  readonly reason?: string;
  readonly action: string;
  readonly about: string;
  readonly when: string;
}

/** Every Event that Herald gives: docs/reference/events.md is written from it. */
export const eventTable = {
  addressAssigned: {
    type: 'Normal',
    reason: 'AddressAssigned',
    action: 'AssignAddress',
    about: 'Service',
    when: 'the Service has addresses, and had none',
  },
  addressChanged: {
    type: 'Normal',
    reason: 'AddressChanged',
    action: 'AssignAddress',
    about: 'Service',
    when: 'the Service has other addresses than before, because its owner asked for it',
  },
  addressHeldTwice: {
    type: 'Warning',
    reason: 'AddressHeldTwice',
    action: 'AssignAddress',
    about: 'Service',
    when: 'another Service has the address that this one had on record as well, and it was given another one',
  },
  addressReleased: {
    type: 'Normal',
    reason: 'AddressReleased',
    action: 'ReleaseAddress',
    about: 'Service',
    when: 'the Service has let go of all its addresses; the note says why',
  },
  addressNotAssigned: {
    type: 'Warning',
    action: 'AssignAddress',
    about: 'Service',
    when: 'the Service does not have what it asks for: the reason of its condition AddressAssigned; the note has that of every pool, or every mistake, and comes anew when there is another one',
  },
  notReleased: {
    type: 'Warning',
    action: 'ReleaseAddress',
    about: 'Service',
    when: 'the Service has another provider by now, or is no LoadBalancer any more, and what it had before cannot be let go: the code says why',
  },
  remark: {
    type: 'Warning',
    action: 'AssignAddress',
    about: 'Service',
    when: 'something that the Service asks for has no effect, or not the one that it may seem to have, although the Service is served',
  },
  repaired: {
    type: 'Normal',
    reason: 'LoadBalancerRepaired',
    action: 'Repair',
    about: 'Service',
    when: 'somebody has changed the load balancer of the Service in AWS, and it was put right; the note says what',
  },
  programmed: {
    type: 'Normal',
    reason: 'Programmed',
    action: 'Program',
    about: 'Service',
    when: 'every node that reports forwards the Service, which was not so before',
  },
  notProgrammed: {
    type: 'Warning',
    action: 'Program',
    about: 'Service',
    when: 'that has not been so for 30 s: the reason of its condition Programmed',
  },
  announced: {
    type: 'Normal',
    reason: 'Announced',
    action: 'Announce',
    about: 'Service',
    when: 'a node announces the Service to a peer, which was not so before',
  },
  notAnnounced: {
    type: 'Warning',
    action: 'Announce',
    about: 'Service',
    when: 'that has not been so for 30 s: the reason of its condition Announced',
  },
  invalidService: {
    type: 'Warning',
    reason: 'InvalidService',
    action: 'Read',
    about: 'Service',
    when: 'a field or an annotation of the Service cannot be understood; what it said before stays in force, or that part alone is left out',
  },
  accepted: {
    type: 'Normal',
    reason: 'Accepted',
    action: 'Accept',
    about: 'a configuration object',
    when: 'the object is in force, and was refused before',
  },
  refused: {
    type: 'Warning',
    action: 'Accept',
    about: 'a configuration object',
    when: 'the object, or a part of it, is left out: the reason of its condition Accepted',
  },
  ready: {
    type: 'Normal',
    reason: 'Ready',
    action: 'Serve',
    about: 'IPAddressPool, BGPPeer, BGPAdvertisement',
    when: 'the object does what it is for, which was not so before',
  },
  notReady: {
    type: 'Warning',
    action: 'Serve',
    about: 'IPAddressPool, BGPPeer, BGPAdvertisement',
    when: 'that is no longer so: the reason of its condition Ready (a pool that is full, a session that is down)',
  },
} as const satisfies Readonly<Record<string, EventKind>>;

export type EventName = keyof typeof eventTable;
