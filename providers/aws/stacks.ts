import type { ServiceKey } from '../../src/model/metadata.ts';
import type { StackIdentity } from './desire/circumstances.ts';
import type { StackTargets } from './node-rules-pass.ts';
import { Known } from './observe/known.ts';
import type { Owned } from './observe/scan.ts';
import type { PassResult } from './pass.ts';

/** What the controller remembers of one stack; all of it can be found again. */
export interface StackState {
  readonly identity: StackIdentity;
  readonly known: Known;
  /** Services that it serves, or has served and not yet let go of. */
  readonly services: Set<ServiceKey>;
  /** Where it wants to reach its targets; undefined: not looked yet. */
  targets?: StackTargets;
  hostname?: string;
  /** What was desired when nothing was left to do: what has to be done for the same later is drift. */
  settled?: string;
  last?: PassResult;
}

/** All stacks that are served, or of which something is left. */
export class Stacks {
  readonly #states = new Map<string, StackState>();

  get all(): Iterable<StackState> {
    return this.#states.values();
  }

  get size(): number {
    return this.#states.size;
  }

  get(key: string): StackState | undefined {
    return this.#states.get(key);
  }

  open(identity: StackIdentity): StackState {
    const state = this.#states.get(identity.key) ?? { identity, known: new Known(), services: new Set<ServiceKey>() };
    this.#states.set(identity.key, state);
    return state;
  }

  close(key: string): void {
    this.#states.delete(key);
  }

  /** Of which a Service has, or may have, a part. */
  of(service: ServiceKey): StackState[] {
    return [...this.#states.values()].filter(({ identity, services }) => services.has(service) || identity.key === service);
  }

  /** What a look at the whole account has found: it belongs to these stacks, whether they were known or not. */
  found(owned: ReadonlyMap<string, readonly Owned[]>): void {
    for (const [key, things] of owned) {
      const state = this.open(identityOf(key));
      for (const { id } of things) state.known.found(id);
    }
  }
}

/** The reverse of its key: of a stack that was found by its tags. */
export function identityOf(key: string): StackIdentity {
  const [namespace = '', name = ''] = key.replace(/^shared:/, '').split('/');
  return { key, namespace, name };
}
