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
    why: 'AWS changes neither, and a Classic ELB has one listener a port',
    isIt: ({ kind, after, why }) => kind === 'classic' && after === 'elb:DeleteLoadBalancerListeners' && why.endsWith(': no listener'),
  },
  {
    edit: 'The type of targets, or the protocol, of a port of an NLB that has 50 listeners',
    why: 'there is no port on which AWS could check the new targets',
  },
  { edit: 'Clients, where old and new rules do not fit into one security group', why: 'the old ones have to go first' },
  { edit: 'Security groups, where old and new ones are more than five', why: 'nodes cannot be told of the new ones before' },
  {
    edit: 'The subnet, or the addresses, of a zone of an NLB, for clients that have looked its address up',
    why: 'AWS changes them only by leaving the zone',
    isIt: ({ kind, zone, why }) =>
      kind === 'nlb' && zone !== undefined && (why.endsWith(`: not in ${zone}`) || why.endsWith(`: ${zone} is new`)),
  },
];
