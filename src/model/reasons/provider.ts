import { reasonEntry } from './entry.ts';

export interface OfProvider {
  readonly provider: string;
  /** The provider's own text. */
  readonly problem: string;
}

/** Reasons for providers loaded by --provider, whose own reasons are not in the catalogue. */
export const providerReasons = {
  ProviderRefused: reasonEntry({
    brief: 'The provider of the Service cannot do what it asks for',
    says: (d: OfProvider) => `provider ${d.provider}: ${d.problem}`,
    fix: (d) => `change the Service; the documentation of provider ${d.provider} says what it supports`,
  }),
  ProviderFailed: reasonEntry({
    brief: 'The provider of the Service could not reach the system that it manages, or was refused by it',
    says: (d: OfProvider) => `provider ${d.provider}: ${d.problem}`,
    fix: (d) => `Herald retries; if the problem persists, check the system that provider ${d.provider} manages`,
  }),
  ProviderWaits: reasonEntry({
    brief: 'The provider of the Service waits for what it has asked for',
    says: (d: OfProvider) => `provider ${d.provider}: ${d.problem}`,
    fix: () => '',
  }),
};
