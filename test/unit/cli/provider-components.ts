import type { ProviderComponents } from '../../../src/controller/provider-module.ts';
import { silentLog } from '../../../src/system/log.ts';
import { VirtualClock } from '../../../src/system/virtual-clock.ts';

/** The components that a provider module receives: a clock that stands still, and no variables. */
export function providerComponents(mayWrite: boolean): ProviderComponents {
  return {
    clock: new VirtualClock(),
    random: () => 0.5,
    log: silentLog,
    stopped: new AbortController().signal,
    variables: {},
    mayWrite: () => mayWrite,
  };
}
