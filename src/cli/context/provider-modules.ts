import nodeModule from 'node:module';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Provider } from '../../controller/provider.ts';
import * as contract from '../../controller/provider-module.ts';
import { missingMethods, type CreateProvider, type ProviderComponents } from '../../controller/provider-module.ts';
import { UsageError } from './command-context.ts';

/** Imports a module by its URL. */
export type LoadModule = (url: string) => Promise<unknown>;

/**
 * Loads the providers of modules, in the order of `paths`. `taken` holds provider names that are in use already. Rejects with UsageError,
 * which names the module and what it lacks, so that a faulty module is found at start and not at the first Service.
 */
export async function loadProviders(
  paths: readonly string[],
  components: ProviderComponents,
  taken: readonly string[],
  load: LoadModule,
): Promise<readonly Provider[]> {
  if (paths.length > 0) shareContract();
  const providers: Provider[] = [];
  for (const path of paths) {
    const provider = await loadProvider(path, components, load);
    if ([...taken, ...providers.map(({ name }) => name)].includes(provider.name))
      throw wrong(path, `its provider is called "${provider.name}", and another provider has that name: give it another \`name\``);
    components.log.info({ provider: provider.name, module: path }, 'provider loaded');
    providers.push(provider);
  }
  return providers;
}

async function loadProvider(path: string, components: ProviderComponents, load: LoadModule): Promise<Provider> {
  const module = await load(pathToFileURL(resolve(path)).href).catch((error: unknown) => {
    throw wrong(path, `it could not be loaded: ${errorText(error)}`);
  });
  const { createProvider } = module as { readonly createProvider?: unknown };
  if (typeof createProvider !== 'function') throw wrong(path, 'it must export a function `createProvider`');
  const provider: unknown = await Promise.resolve()
    .then(() => (createProvider as CreateProvider)(components) as unknown)
    .catch((error: unknown) => {
      throw wrong(path, `createProvider failed: ${errorText(error)}`);
    });
  if (typeof provider !== 'object' || provider === null) throw wrong(path, 'createProvider must return a provider');
  const { name } = provider as { readonly name?: unknown };
  // The name becomes a metric label and part of messages.
  if (typeof name !== 'string' || !/^[a-z][a-z0-9-]{0,62}$/.test(name))
    throw wrong(path, 'the `name` of its provider must be lower-case letters, digits and "-", 63 at most, and begin with a letter');
  const missing = missingMethods(provider);
  if (missing.length > 0)
    throw wrong(path, `its provider lacks ${missing.join(', ')} (src/controller/provider.ts and provider-parts.ts describe each)`);
  return provider as Provider;
}

const shared = Symbol.for('herald/provider');

/**
 * Makes `import 'herald/provider'` resolve to this Herald, wherever the module is, so that nothing has to be installed beside the module.
 * The contract is handed over in memory, because there may be no file of it (`kubectl herald` is one file).
 */
function shareContract(): void {
  (globalThis as Record<symbol, unknown>)[shared] = contract;
  const names = Object.keys(contract).join(', ');
  const source = `export const { ${names} } = globalThis[Symbol.for('herald/provider')];`;
  const url = 'herald:provider';
  // Accessed through the module object: an older Node.js lacks this export and must still start, to report that it is too old.
  nodeModule.registerHooks({
    resolve: (specifier, context, next) =>
      specifier === 'herald/provider' ? { url, format: 'module', shortCircuit: true } : next(specifier, context),
    load: (from, context, next) => (from === url ? { source, format: 'module', shortCircuit: true } : next(from, context)),
  });
}

function wrong(path: string, what: string): UsageError {
  return new UsageError(`--provider ${path}: ${what}`);
}

function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
