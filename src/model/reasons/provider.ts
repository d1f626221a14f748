import { reasonEntry } from './entry.ts';

export interface OfProvider {
  readonly provider: string;
  /** In the provider's own words. */
  readonly problem: string;
}

/** For providers that are loaded by --provider: the catalogue cannot know what they will say no for. */
export const providerReasons = {
  ProviderRefused: reasonEntry({
    brief: 'The provider of the Service cannot do what it asks for',
    says: (d: OfProvider) => `provider ${d.provider}: ${d.problem}`,
    fix: (d) => `change the Service; the documentation of provider ${d.provider} says what it takes`,
  }),
  ProviderFailed: reasonEntry({
    brief: 'The provider of the Service could not reach what it works with, or was refused there',
    says: (d: OfProvider) => `provider ${d.provider}: ${d.problem}`,
    fix: (d) => `it is tried again by itself; if it lasts, look at what provider ${d.provider} works with`,
  }),
  ProviderWaits: reasonEntry({
    brief: 'The provider of the Service waits for what it has asked for',
    says: (d: OfProvider) => `provider ${d.provider}: ${d.problem}`,
    fix: () => '',
  }),
};
