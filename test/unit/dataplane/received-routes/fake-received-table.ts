import type { DataplaneError } from '../../../../src/dataplane/dataplane.ts';
import { routeText, type KernelRoute, type ReceivedRouteTable } from '../../../../src/dataplane/received-routes/received-table.ts';
import type { Family } from '../../../../src/net/address.ts';
import { formatPrefix, type Prefix } from '../../../../src/net/prefix.ts';

/** A routing table in memory that records the changes. */
export class FakeReceivedTable implements ReceivedRouteTable {
  readonly present = new Map<string, KernelRoute>();
  readonly unruled = new Set<Family>();
  readonly refused = new Map<string, string>();
  readonly changes: string[] = [];
  failure: DataplaneError | undefined;
  lists = 0;
  closed = false;

  /** Returns the next hops by prefix; "" for a route that skips the table. */
  get routes(): Record<string, string> {
    return Object.fromEntries([...this.present].map(([key, route]) => [key, routeText(route)]));
  }

  list() {
    this.lists++;
    if (this.failure !== undefined) return Promise.reject(this.failure);
    return Promise.resolve({ routes: [...this.present.values()], unruled: new Set(this.unruled) });
  }

  change(set: readonly KernelRoute[], remove: readonly Prefix[]) {
    if (this.failure !== undefined) return Promise.reject(this.failure);
    const refused = new Map<number, string>();
    for (const [index, route] of set.entries()) {
      const key = formatPrefix(route.prefix);
      this.changes.push(`${key} ${routeText(route)}`);
      const error = this.refused.get(key);
      if (error === undefined) this.present.set(key, route);
      else refused.set(index, error);
    }
    for (const gone of remove) {
      this.changes.push(`-${formatPrefix(gone)}`);
      this.present.delete(formatPrefix(gone));
    }
    this.unruled.clear();
    return Promise.resolve(refused);
  }

  watch() {
    return () => undefined;
  }

  close() {
    this.closed = true;
  }
}
