/** What of another program's forwarding can be seen. */
export type ForeignView =
  | {
      readonly seen: true;
      /** Whose rules, in words: "kube-proxy (nftables)". */
      readonly program: string;
      /** Of the packet mark, by which it asks for masquerade. */
      readonly masqueradeBits: readonly number[];
    }
  | {
      readonly seen: false;
      /** Why not, where more is known than that there is nothing. */
      readonly why?: string;
    };

/**
 * Forwarding that another program does on this node. Herald reads it and never changes it.
 *
 * - `start` resolves after a first look, and never rejects: what cannot be looked at shows in `view`. Then it follows the other
 *   program until `stop`. Either may be called again.
 * - `has` tells whether the kernel has the frontend (by frontendKey) with somewhere to send its packets. Of nothing, where nothing is seen.
 */
export interface ForeignForwarding {
  start(): Promise<void>;
  readonly view: ForeignView;
  has(frontend: string): boolean;
  /** Called with the frontends for which `has` answers otherwise than before; undefined: perhaps any, and `view` too. */
  onChange(listener: (frontends: ReadonlySet<string> | undefined) => void): void;
  stop(): Promise<void>;
}
