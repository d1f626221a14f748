import assert from 'node:assert';
import type { AnyReasonEntry, ReasonTable } from './reasons/entry.ts';

/** The part of HeraldConfig that a provider brings, as `spec.NAME`. `configPart` makes one. */
export interface ConfigPart {
  readonly name: string;
  /** An ObjectSchema. */
  readonly schema: object;
  /** Returns the settings of what is written. Undefined: nothing is. */
  readonly read: (written: unknown) => unknown;
}

/** Additions of a provider to the tables of the core. The composition root adds the tables of each provider before anything uses them. */
export interface ProviderTables {
  /** The name of the provider. */
  readonly name: string;
  readonly reasons?: ReasonTable;
  readonly config?: ConfigPart;
  /** The Event of a notice. Absent: `ProviderNotice`. */
  readonly notice?: { readonly reason: string; readonly action: string; readonly when: string };
  /** Its words in explanations and plans. Absent: its name. */
  readonly wording?: ProviderWording;
  /** The values of spec.loadBalancerClass that it serves. */
  readonly classes?: readonly string[];
  /** The provider ships with Herald, and is no module. */
  readonly shipped?: true;
  /** Prefix of annotations that the provider reads itself, where it begins with `herald.dev/`. */
  readonly annotationPrefix?: string;
  /** Prefixes of the finalizers of other controllers that serve what this provider could serve. */
  readonly rivalFinalizers?: readonly string[];
  /** The shapes of secrets of its API, which are removed from bundles. Each pattern has the flag `g` and is bounded. */
  readonly secrets?: readonly RegExp[];
}

/** How explanations and plans speak of a provider. */
export interface ProviderWording {
  /** Its resources outside Kubernetes: "resources in ACME". */
  readonly resources: string;
  /** Where its calls go: "to ACME". */
  readonly calls: string;
  /** Its calls, in the description of `herald plan`: "ACME calls". */
  readonly planned: string;
  /** How to see its resources, where the command line does not enable the provider. */
  readonly unread: string;
  readonly undrawn: string;
  /** Told about a cluster without a HeraldConfig: which option lets Services get load balancers of it. */
  readonly serves: string;
  /** The meaning of NAME-call and NAME-delete in `herald plan --fail-on`, and which operations delete. */
  readonly failures: { readonly call: string; readonly deletion: string; readonly isDeletion: (operation: string) => boolean };
}

const tables = new Map<string, ProviderTables>();
const reasons = new Map<string, AnyReasonEntry>();

/** Adds the tables of a provider, or replaces those that it added before. A code belongs to one provider. */
export function addProviderTables(added: ProviderTables): void {
  removeProviderTables(added.name);
  for (const [code, entry] of Object.entries(added.reasons ?? {})) {
    assert(!reasons.has(code), `two providers have reason ${code}`);
    reasons.set(code, entry);
  }
  tables.set(added.name, added);
}

export function removeProviderTables(name: string): void {
  for (const code of Object.keys(tables.get(name)?.reasons ?? {})) reasons.delete(code);
  tables.delete(name);
}

/** Returns the tables of every provider, in the order in which they were added. */
export function providerTables(): readonly ProviderTables[] {
  return [...tables.values()];
}

/** Undefined: no such provider has tables. */
export function findProvider(name: string): ProviderTables | undefined {
  return tables.get(name);
}

/** Returns the entry of a provider's reason. Undefined: no provider has the code. */
export function providerReason(code: string): AnyReasonEntry | undefined {
  return reasons.get(code);
}
