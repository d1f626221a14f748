import { DataplaneError } from '../../../../src/dataplane/dataplane.ts';
import type { IngressTable } from '../../../../src/dataplane/direct-return/ingress-set.ts';
import { itemKey, type PathItem, type PathTable } from '../../../../src/dataplane/direct-return/paths.ts';

/** Paths in a Map. It refuses items whose key contains one of `refused`. */
export class FakePaths implements PathTable {
  readonly items = new Map<string, PathItem>();
  readonly refused = new Set<string>();
  /** "+rule 4 ...", "-rule 4 ...", in order of arrival. */
  readonly log: string[] = [];

  list(): Promise<readonly PathItem[]> {
    return Promise.resolve([...this.items.values()]);
  }

  hasTunnel(): Promise<boolean> {
    return Promise.resolve([...this.items.values()].some(({ kind }) => kind === 'tunnel'));
  }

  change(add: readonly PathItem[], remove: readonly PathItem[]): Promise<void> {
    for (const item of remove) {
      this.log.push(`-${itemKey(item)}`);
      this.items.delete(itemKey(item));
    }
    let refusal: string | undefined;
    for (const item of add) {
      const key = itemKey(item);
      if ([...this.refused].some((text) => key.includes(text))) refusal ??= key;
      else this.items.set(key, item);
      this.log.push(`+${key}`);
    }
    return refusal === undefined ? Promise.resolve() : Promise.reject(new DataplaneError('failed', `${refusal}: no`));
  }
}

/** A kernel that accepts all lines or refuses all. */
export class FakeIngress implements IngressTable {
  readonly scripts: string[][] = [];
  refuses: string | undefined;
  present = false;

  run(lines: readonly string[]): Promise<void> {
    if (this.refuses !== undefined) return Promise.reject(new DataplaneError('failed', this.refuses));
    this.scripts.push([...lines]);
    this.present = lines.findLast((line) => /^(add|delete) table/.test(line))?.startsWith('add') ?? this.present;
    return Promise.resolve();
  }

  check(): Promise<void> {
    return this.refuses === undefined ? Promise.resolve() : Promise.reject(new DataplaneError('failed', this.refuses));
  }

  exists(): Promise<boolean> {
    return Promise.resolve(this.present);
  }
}
