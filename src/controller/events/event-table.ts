/** One kind of Event. Without `reason` the Event has the reason code of the condition. */
interface EventKind {
  readonly type: 'Normal' | 'Warning';
  readonly reason?: string;
  readonly action: string;
  readonly about: string;
  readonly when: string;
}

/** A kind of Event about a Service, of type Normal. */
function normal(reason: string, action: string, when: string) {
  return { type: 'Normal', reason, action, about: 'Service', when } as const;
}

/** A kind of Event about a Service, of type Warning. */
function warning(action: string, when: string) {
  return { type: 'Warning', action, about: 'Service', when } as const;
}

/** Every Event that Herald records. docs/reference/events.md is generated from it. */
export const eventTable = {
  addressAssigned: normal('AddressAssigned', 'AssignAddress', 'the Service, which had no address, was assigned addresses'),
  addressChanged: normal('AddressChanged', 'AssignAddress', 'the addresses of the Service changed because its owner asked for it'),
  addressHeldTwice: {
    reason: 'AddressHeldTwice',
    ...warning('AssignAddress', 'two Services had the same recorded address; this one was assigned another'),
  },
  addressReleased: normal('AddressReleased', 'ReleaseAddress', 'the Service holds no address any more; the note says why'),
  statusRefused: {
    reason: 'StatusWriteRefused',
    ...warning(
      'WriteStatus',
      'the API server does not let the controller write the status of the Service; the note has its answer and the missing rule',
    ),
  },
  addressNotAssigned: warning(
    'AssignAddress',
    'the Service lacks what it asks for. The reason is that of its condition AddressAssigned. The note lists the reason of each pool, or each mistake; a new one causes a new Event',
  ),
  notClaimed: warning(
    'AssignAddress',
    'a LoadBalancer without a class has waited for 30 s (5 minutes where another controller serves such Services), and no controller serves it. Recorded once while a controller leads; the note has both fixes',
  ),
  externalIPDenied: warning(
    'Announce',
    'no ExternalIPPolicy allows an external IP of the Service, of whatever type the Service is; the note names the address and the policy that is missing',
  ),
  notReleased: warning(
    'ReleaseAddress',
    'the Service changed its provider, or is no longer a LoadBalancer, and its earlier resources cannot be released; the code says why',
  ),
  remark: warning('AssignAddress', 'the Service is served, but one of its settings has no effect or an unexpected one'),
  notice: normal(
    'ProviderNotice',
    'AssignAddress',
    'a provider has news for the people who use the Service; the note says what. A provider may have a reason of its own',
  ),
  repaired: normal(
    'LoadBalancerRepaired',
    'Repair',
    'another client changed the load balancer of the Service at its provider, and Herald corrected it; the note says what',
  ),
  programmed: normal('Programmed', 'Program', 'every node that reports now forwards the Service'),
  notProgrammed: warning('Program', 'some node has not forwarded the Service for 30 s. The reason is that of its condition Programmed'),
  announced: normal('Announced', 'Announce', 'at least one node now announces the Service to a peer'),
  notAnnounced: warning('Announce', 'no node has announced the Service for 30 s. The reason is that of its condition Announced'),
  notAnswered: warning(
    'Forward',
    'agents have seen connections to endpoints of the Service fail for 30 s. The reason is that of its condition Answered',
  ),
  announcedInVain: warning(
    'Announce',
    'only nodes that cannot forward announce an address of the Service. The reason is that of its condition Announced, which is True',
  ),
  announcedTwice: warning(
    'Announce',
    'the kernel of a node answers ARP for an address of the Service, which another node announces. The reason is that of its condition Announced, which is True',
  ),
  ownerChanged: normal(
    'AddressOwnerChanged',
    'Announce',
    'another node answers ARP or NDP for an address of the Service than before; the note names both. The first owner is no change',
  ),
  addressConflict: warning(
    'Announce',
    'a host that is no node uses an address of the Service (L2AddressContested, L2AddressConflict); the note has its MAC address. Reported at once, not after 30 s',
  ),
  invalidService: {
    reason: 'InvalidService',
    ...warning(
      'Read',
      'a field or an annotation of the Service is invalid; its earlier value stays in force, or only this part is ignored',
    ),
  },
  accepted: {
    type: 'Normal',
    reason: 'Accepted',
    action: 'Accept',
    about: 'a configuration object',
    when: 'the object, which was refused before, is in force',
  },
  refused: {
    type: 'Warning',
    action: 'Accept',
    about: 'a configuration object',
    when: 'the object, or a part of it, is not used. The reason is that of its condition Accepted',
  },
  ready: {
    type: 'Normal',
    reason: 'Ready',
    action: 'Serve',
    about: 'IPAddressPool, BGPPeer, BGPAdvertisement',
    when: 'the object, which did not work before, works',
  },
  notReady: {
    type: 'Warning',
    action: 'Serve',
    about: 'IPAddressPool, BGPPeer, BGPAdvertisement',
    when: 'the object no longer works, or fails for another reason than before. The reason is that of its condition Ready (a full pool, a session that is down)',
  },
} as const satisfies Readonly<Record<string, EventKind>>;

export type EventName = keyof typeof eventTable;
