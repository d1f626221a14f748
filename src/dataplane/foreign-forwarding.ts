/** The state of another program's forwarding, as Herald reads it. */
export type ForeignView =
  | {
      readonly seen: true;
      /** The program whose rules these are: "kube-proxy (nftables)". */
      readonly program: string;
      /** Bits of the packet mark that ask the program to masquerade. */
      readonly masqueradeBits: readonly number[];
    }
  | {
      readonly seen: false;
      /** Why the rules cannot be read. Absent when there are simply none. */
      readonly unavailableBecause?: string;
    };

/**
 * Forwarding that another program does on this node. Herald reads it and never changes it.
 *
 * - `start` resolves after the first read and never rejects: a failed read shows in `view`. It then follows the other program until `stop`.
 *   Both may be called repeatedly.
 * - `has` returns true when the kernel has the frontend (by frontendKey) with a destination for its packets, and false when nothing is
 *   seen.
 */
export interface ForeignForwarding {
  start(): Promise<void>;
  readonly view: ForeignView;
  has(frontend: string): boolean;
  /**
   * Calls the listener with the frontends for which the result of `has` changed. Undefined: any of them may have changed, and `view` too.
   */
  onChange(listener: (frontends: ReadonlySet<string> | undefined) => void): void;
  stop(): Promise<void>;
}
