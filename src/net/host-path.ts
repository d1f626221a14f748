import type { Address } from './address.ts';

/** An address, or the name of an interface: that of a router without a configured address (unnumbered). */
export type HostTarget = Address | { readonly interface: string };

/** The interface by which a host reaches an address. */
export interface HostPath {
  readonly interface: string;
  /** The largest packet that the interface takes, in octets. */
  readonly mtu: number;
  /** The same of the other end of a virtual cable, in the network namespace of a pod. Absent: the interface is none, or it is unknown. */
  readonly farMtu?: number;
}
