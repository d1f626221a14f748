import { sameContent } from '../../../src/model/store/same-content.ts';
import type { Snapshot } from '../../../src/model/store/snapshot.ts';
import { policyOf, type NamespacePolicy } from '../desire/policies/namespace-policy.ts';

/** Finds the namespaces whose Services may ask AWS for something else, after a change of HeraldConfig or of a Namespace. */
export class PolicyChanges {
  #before: ReadonlyMap<string, NamespacePolicy | undefined> = new Map();

  /** Returns the namespaces with Services whose policy differs from that of the last call. */
  take(snapshot: Snapshot): ReadonlySet<string> {
    const namespaces = new Set(snapshot.services.values().map(({ metadata }) => metadata.namespace));
    const now = new Map([...namespaces].map((namespace) => [namespace, policyOf(namespace, snapshot)]));
    const before = this.#before;
    this.#before = now;
    return new Set([...namespaces].filter((namespace) => !sameContent(before.get(namespace), now.get(namespace))));
  }
}
