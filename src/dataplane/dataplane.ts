import type { Address } from '../net/address.ts';
import type { NodeForwarding, ServiceForwarding } from '../net/frontend.ts';
import type { Prefix } from '../net/prefix.ts';

/** The methods of direct server return that this kernel does not support, each with the kernel's error. */
export interface DirectReturnShortcomings {
  readonly l2?: string;
  readonly route?: string;
  readonly vxlan?: string;
}

/** Changes by key of the service; undefined: the service is gone. */
export type ForwardingChanges = ReadonlyMap<string, ServiceForwarding | undefined>;

/**
 * What a node forwards, made true in the kernel.
 *
 * - `replace` sets everything, at start: what the kernel already has stays untouched, the difference is applied.
 * - `apply` is idempotent; removing what is not there succeeds. Calls are serialised by the implementation.
 * - Both resolve when the kernel has committed. A batch that fails is bisected: one frontend at fault never holds back another.
 * - Neither rejects for a frontend at fault; they reject (DataplaneError) only when nothing can be applied at all.
 */
export interface Dataplane {
  /**
   * The first `replace` found the rules of an earlier process in the kernel, for both families: traffic was forwarded all the time.
   * False until then.
   */
  readonly adopted: boolean;
  replace(node: NodeForwarding, services: ReadonlyMap<string, ServiceForwarding>): Promise<ApplyResult>;
  setNode(node: NodeForwarding): Promise<ApplyResult>;
  apply(changes: ForwardingChanges): Promise<ApplyResult>;
  /**
   * Removes the rules, those of an earlier process too, until the next `replace`. Unreachable routes stay. Again and again
   * costs nothing.
   */
  clear(): Promise<void>;
  /**
   * Unreachable routes for announced aggregates, as a whole set: an address inside that no service owns must not loop. Resolves
   * to the prefixes that have none, by their text, and why; rejects (DataplaneError) when nothing is known of any. What others
   * remove is set again.
   */
  setUnreachable(prefixes: readonly Prefix[]): Promise<ReadonlyMap<string, string>>;
  /**
   * What the kernel cannot do for direct server return: hand frames over at these interfaces, make tunnels from these addresses. The
   * tunnels are there afterwards. Rejects (DataplaneError) when that cannot be told.
   */
  probeDirectReturn(interfaces: readonly string[], tunnels: readonly Address[]): Promise<DirectReturnShortcomings>;
  /** Called when another program changed or removed our tables or routes, after the repair. */
  onRepair(listener: (what: string) => void): void;
  /**
   * Called when tables that another program changed or removed could not be repaired: what the kernel has is unknown. It
   * goes on trying, and so does the next call.
   */
  onFailure(listener: (error: DataplaneError) => void): void;
  /** Stops watching; rules and routes stay, so that traffic flows while an agent restarts. */
  close(): Promise<void>;
  /** Removes everything this data plane ever made. */
  cleanup(): Promise<void>;
}

export interface ApplyResult {
  /** Frontends whose latest desired form is not in the kernel, by frontendKey. Everything else that was given is. */
  readonly quarantined: ReadonlyMap<string, QuarantinedFrontend>;
}

export interface QuarantinedFrontend {
  /** Whose latest form the kernel has not. Empty: the frontend is to go, and cannot. */
  readonly services: readonly string[];
  /** The kernel's or the backend's own words. */
  readonly error: string;
  /** Several services ask for the frontend: `services` wait, and the kernel has the form of this one. */
  readonly owner?: string;
}

/** Nothing could be applied: the backend is missing, not permitted, or answers in a way we do not understand. */
export class DataplaneError extends Error {
  readonly code: 'unavailable' | 'permission' | 'failed';

  constructor(code: DataplaneError['code'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'DataplaneError';
    this.code = code;
  }
}
