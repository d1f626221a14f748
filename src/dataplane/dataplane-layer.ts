import type { Address } from '../net/address.ts';
import type { NodeForwarding, ServiceForwarding } from '../net/frontend.ts';
import type { Prefix } from '../net/prefix.ts';
import type { ApplyResult, Dataplane, DataplaneError, DirectReturnShortcomings, ForwardingChanges, OwnedFrontend } from './dataplane.ts';

/** Base class of a data plane that wraps another one. Every method that a subclass does not override is passed to the inner data plane. */
export abstract class DataplaneLayer implements Dataplane {
  readonly #inner: Dataplane;

  constructor(inner: Dataplane) {
    this.#inner = inner;
  }

  get adopted(): boolean {
    return this.#inner.adopted;
  }

  replace(node: NodeForwarding, services: ReadonlyMap<string, ServiceForwarding>): Promise<ApplyResult> {
    return this.#inner.replace(node, services);
  }

  setNode(node: NodeForwarding): Promise<ApplyResult> {
    return this.#inner.setNode(node);
  }

  apply(changes: ForwardingChanges): Promise<ApplyResult> {
    return this.#inner.apply(changes);
  }

  clear(): Promise<void> {
    return this.#inner.clear();
  }

  setUnreachable(prefixes: readonly Prefix[]): Promise<ReadonlyMap<string, string>> {
    return this.#inner.setUnreachable(prefixes);
  }

  probeDirectReturn(interfaces: readonly string[], tunnels: readonly Address[]): Promise<DirectReturnShortcomings> {
    return this.#inner.probeDirectReturn(interfaces, tunnels);
  }

  frontend(key: string): OwnedFrontend | undefined {
    return this.#inner.frontend(key);
  }

  onRepair(listener: (what: string) => void): void {
    this.#inner.onRepair(listener);
  }

  onFailure(listener: (error: DataplaneError) => void): void {
    this.#inner.onFailure(listener);
  }

  close(): Promise<void> {
    return this.#inner.close();
  }

  cleanup(): Promise<void> {
    return this.#inner.cleanup();
  }
}
