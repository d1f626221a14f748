import type { Address } from '../net/address.ts';
import type { Frontend, NodeForwarding, ServiceForwarding } from '../net/frontend.ts';
import type { Prefix } from '../net/prefix.ts';

/** The methods of direct server return that this kernel does not support, each with the kernel's error. */
export interface DirectReturnShortcomings {
  readonly l2?: string;
  readonly route?: string;
  readonly vxlan?: string;
}

/** Changed Services by key. Undefined: the Service is gone. */
export type ForwardingChanges = ReadonlyMap<string, ServiceForwarding | undefined>;

/**
 * Programs the forwarding of a node into the kernel.
 *
 * - `replace` sets everything, at start. Rules that the kernel already has stay untouched; only the difference is applied.
 * - `apply` is idempotent: removing something absent succeeds. The implementation runs calls one after another.
 * - Both resolve after the kernel has committed. A failed batch is bisected, so one faulty frontend never holds back another.
 * - A faulty frontend is returned as quarantined. The call rejects (DataplaneError) only when nothing can be applied at all.
 */
export interface Dataplane {
  /**
   * True when the first `replace` found the rules of an earlier process in the kernel, for both families: traffic was forwarded without a
   * gap. False until then.
   */
  readonly adopted: boolean;
  replace(node: NodeForwarding, services: ReadonlyMap<string, ServiceForwarding>): Promise<ApplyResult>;
  setNode(node: NodeForwarding): Promise<ApplyResult>;
  apply(changes: ForwardingChanges): Promise<ApplyResult>;
  /** Removes the rules, also those of an earlier process, until the next `replace`. Unreachable routes stay. Repeated calls do nothing. */
  clear(): Promise<void>;
  /**
   * Sets the unreachable routes for announced aggregates, as a whole set: a packet to an address inside an aggregate that no Service owns
   * must not loop. Resolves to the prefixes that have no route, by their text, with the error of each. Rejects (DataplaneError) when the
   * state of none is known. Routes that another program removes are set again.
   */
  setUnreachable(prefixes: readonly Prefix[]): Promise<ReadonlyMap<string, string>>;
  /**
   * Checks what direct server return can use on this kernel: forwarding frames at these interfaces, tunnels from these addresses. The
   * tunnels exist afterwards. Rejects (DataplaneError) when the check itself fails.
   */
  probeDirectReturn(interfaces: readonly string[], tunnels: readonly Address[]): Promise<DirectReturnShortcomings>;
  /** Finds a frontend by `frontendKey`, in the form of the Service that owns it. Undefined: no Service has it. */
  frontend(key: string): OwnedFrontend | undefined;
  /** Calls the listener after a repair, when another program had changed or removed our tables or routes. */
  onRepair(listener: (what: string) => void): void;
  /**
   * Calls the listener when tables that another program changed or removed could not be repaired, so the kernel's state is unknown. The
   * data plane keeps retrying, and the next call retries too.
   */
  onFailure(listener: (error: DataplaneError) => void): void;
  /** Stops watching. Rules and routes stay, so that traffic flows while an agent restarts. */
  close(): Promise<void>;
  /** Removes everything that this data plane ever created. */
  cleanup(): Promise<void>;
}

/** A frontend and the Service that owns it. */
export interface OwnedFrontend {
  readonly service: string;
  readonly frontend: Frontend;
}

export interface ApplyResult {
  /** Frontends whose latest form is not in the kernel, by frontendKey. All other frontends are programmed. */
  readonly quarantined: ReadonlyMap<string, QuarantinedFrontend>;
}

export interface QuarantinedFrontend {
  /** Services whose latest form is not in the kernel. Empty: the frontend should be removed, and the kernel refuses that. */
  readonly services: readonly string[];
  /** The error text of the kernel or of the backend. */
  readonly error: string;
  /** Set when several Services ask for the frontend: the kernel has the form of this one, and `services` wait. */
  readonly owner?: string;
}

/** Nothing could be applied: the backend is missing, lacks permission, or answers in a way that Herald does not understand. */
export class DataplaneError extends Error {
  readonly code: 'unavailable' | 'permission' | 'failed';

  constructor(code: DataplaneError['code'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'DataplaneError';
    this.code = code;
  }
}
