export interface TransportEvents {
  /** A frame arrived. The octets are reused after the call. */
  received(networkInterface: string, octets: Uint8Array): void;
  /** The interface is another one than before, so the kernel has forgotten its multicast groups. */
  reopened(networkInterface: string): void;
  /** The kernel tells something about the interface, at once. */
  linkChanged(networkInterface: string, news: LinkNews): void;
}

export interface LinkNews {
  /** The interface is up and has a carrier. */
  readonly carrier: boolean;
  /** Its MAC address, as text. */
  readonly mac?: string;
  /** It is reached by another way than before: a bond has failed over, a virtual machine has moved. */
  readonly moved: boolean;
}

/** Frames of the network interfaces of this host. */
export interface Transport {
  /** Called once, before `open`. */
  listen(events: TransportEvents): void;
  /** Sends and receives on this interface from now on. Never throws: a failed open is retried, and `problem` has the reason. */
  open(networkInterface: string, options: { readonly promiscuous: boolean }): void;
  close(networkInterface: string): void;
  /** Returns false if the frame was not sent. */
  send(networkInterface: string, octets: Uint8Array): boolean;
  /** Joins or leaves a multicast group (16 octets). Returns why that failed, or undefined. */
  join(networkInterface: string, group: Uint8Array): string | undefined;
  leave(networkInterface: string, group: Uint8Array): void;
  /** Why nothing is received. */
  problem(networkInterface: string): string | undefined;
  /** Frames that the kernel dropped. Undefined: unknown. */
  drops(networkInterface: string): number | undefined;
}
