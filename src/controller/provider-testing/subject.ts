import type { CreateProvider, PartName, ProviderComponents, Provider } from '../provider-module.ts';

/** A provider that is to be checked, and what it needs for that. */
export interface ProviderSubject {
  /** Manifest of a Service of type LoadBalancer, with namespace, name and ports, that the provider serves. */
  readonly service: object;
  /** Manifests of what there has to be beside it: Nodes, pools, a HeraldConfig. */
  readonly objects?: readonly object[];
  /** The optional parts that the provider has; absent: none. Each is checked. */
  readonly parts?: readonly PartName[];
  /** Nothing can be written to Services (standalone). By default it can. */
  readonly withoutMetadata?: true;
  /** Other providers that it is to work beside, by what they claim. Herald's own one of pools is always among them. */
  readonly beside?: readonly Pick<Provider, 'name' | 'claim'>[];
  /** An outside with nothing in it, for one check. */
  readonly world: (clock: ProviderComponents['clock']) => ProviderWorld;
}

/** What a provider works with outside of Kubernetes: a double of an API, in memory, on the clock that it is given. */
export interface ProviderWorld {
  /** Makes a provider as a process that starts does. Called again when the process was ended: the outside is then as that left it. */
  readonly createProvider: CreateProvider;
  /** Names of what there is outside for Services, in any order. Absent: the provider makes nothing outside. */
  readonly left?: () => readonly string[];
  /** From now on the outside answers everything with an error of operation, until the result is called. Absent: the provider asks nobody. */
  readonly fail?: () => () => void;
}
