/** A moment during an edit at which a client is not served, although it is served before and after the edit. */
export interface Gap {
  /** "80/TCP" */
  readonly packet: string;
  /** The zone whose address the client has cached. Undefined: the client looks the name up. */
  readonly zone: string | undefined;
  readonly kind: 'nlb' | 'classic';
  /** The last call to AWS before the gap. */
  readonly after: string;
  readonly seconds: number;
  readonly why: string;
}

export interface Interruption {
  /** As docs/reference/aws.md names it. */
  readonly edit: string;
  readonly why: string;
  /** True when a gap is this interruption. Absent: the edits of the property do not cause it. */
  readonly isIt?: (gap: Gap) => boolean;
}

/** Edits that AWS allows only with an interruption. docs/reference/aws.md lists them. */
export const interruptions: readonly Interruption[] = [
  {
    edit: 'The protocol or the NodePort of a port of a Classic ELB',
    why: 'AWS changes neither, and a Classic ELB has one listener per port',
    isIt: ({ kind, after, why }) => kind === 'classic' && after === 'elb:DeleteLoadBalancerListeners' && why.endsWith(': no listener'),
  },
  {
    edit: 'The target type, or the protocol, of a port of an NLB that has 50 listeners',
    why: 'no listener is left with which AWS could check the new targets',
  },
  { edit: 'Clients, if old and new rules do not fit into one security group', why: 'the old rules must be removed first' },
  {
    edit: 'Security groups, if old and new ones together are more than five',
    why: 'nodes cannot admit the new groups before the exchange',
  },
  {
    edit: 'The subnet, or the addresses, of a zone of an NLB, for clients that have resolved its address',
    why: 'AWS changes them only by removing the zone',
    isIt: ({ kind, zone, why }) =>
      kind === 'nlb' && zone !== undefined && (why.endsWith(`: not in ${zone}`) || why.endsWith(`: ${zone} is new`)),
  },
];
