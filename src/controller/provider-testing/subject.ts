import type { ProviderDefinition } from '../provider-definition.ts';
import type { CreateProvider, PartName, ProviderComponents, Provider } from '../provider-module.ts';

/** A provider to check, and what the checks need for that. */
export interface ProviderSubject {
  /** Manifest of a Service of type LoadBalancer that the provider serves, with namespace, name and ports. */
  readonly service: object;
  /** Manifests of other objects that must exist: Nodes, pools, a HeraldConfig. */
  readonly objects?: readonly object[];
  /** Additions of the provider to the core. Absent: none. */
  readonly definition?: ProviderDefinition;
  /** The optional parts that the provider has. Absent: none. Each has checks of its own. */
  readonly parts?: readonly PartName[];
  /** Services cannot be written to (standalone). By default they can. */
  readonly withoutMetadata?: true;
  /** Other providers that run beside it, by what they claim. Herald's pool provider is always among them. */
  readonly beside?: readonly Pick<Provider, 'name' | 'claim'>[];
  /** Makes an empty world outside the cluster, for one check. */
  readonly world: (clock: ProviderComponents['clock']) => ProviderWorld;
}

/** The world outside Kubernetes that a provider works with: a double of an API in memory, on the given clock. */
export interface ProviderWorld {
  /** Makes a provider as a starting process does. Called again after a restart; the world is then as the earlier process left it. */
  readonly createProvider: CreateProvider;
  /** Returns the names of all resources that exist outside for Services, in any order. Absent: the provider creates none. */
  readonly resources?: () => readonly string[];
  /** Makes every call outside fail with an operating error until the returned function is called. Absent: there are none. */
  readonly fail?: () => () => void;
}
