import nodeModule from 'node:module';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Provider } from '../../controller/provider.ts';
import * as contract from '../../controller/provider-module.ts';
import { missingMethods, type CreateProvider, type ProviderComponents } from '../../controller/provider-module.ts';
import type { ProviderDefinition } from '../../controller/provider-definition.ts';
import { heraldConfigSpec } from '../../model/kinds/herald-config.ts';
import { findProvider } from '../../model/provider-tables.ts';
import { isKnownCode } from '../../model/reasons.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
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
  metrics?: Metrics,
): Promise<readonly Provider[]> {
  if (paths.length > 0) shareContract();
  const providers: Provider[] = [];
  for (const path of paths) {
    const provider = await loadProvider(path, components, load, metrics);
    if ([...taken, ...providers.map(({ name }) => name)].includes(provider.name))
      throw wrong(path, `its provider is called "${provider.name}", and another provider has that name: give it another \`name\``);
    components.log.info({ provider: provider.name, module: path }, 'provider loaded');
    providers.push(provider);
  }
  return providers;
}

async function loadProvider(path: string, components: ProviderComponents, load: LoadModule, metrics?: Metrics): Promise<Provider> {
  const module = await load(pathToFileURL(resolve(path)).href).catch((error: unknown) => {
    throw wrong(path, `it could not be loaded: ${errorText(error)}`);
  });
  const { createProvider, definition } = module as { readonly createProvider?: unknown; readonly definition?: ProviderDefinition };
  if (typeof createProvider !== 'function') throw wrong(path, 'it must export a function `createProvider`');
  const provider: unknown = await Promise.resolve()
    .then(() => (createProvider as CreateProvider)({ ...components, ...meterOf(definition, metrics) }) as unknown)
    .catch((error: unknown) => {
      throw wrong(path, `createProvider failed: ${errorText(error)}`);
    });
  if (typeof provider !== 'object' || provider === null) throw wrong(path, 'createProvider must return a provider');
  const { name } = provider as { readonly name?: unknown };
  // The name becomes a metric label and part of messages.
  if (typeof name !== 'string' || !/^[a-z][a-z0-9-]{0,62}$/.test(name))
    throw wrong(path, 'the `name` of its provider must be lower-case letters, digits and "-", 63 at most, and begin with a letter');
  if (definition !== undefined && definition.name !== name)
    throw wrong(path, `its definition is called "${definition.name}", and its provider "${name}": give both one \`name\``);
  const missing = missingMethods(provider);
  if (missing.length > 0)
    throw wrong(path, `its provider lacks ${missing.join(', ')} (src/controller/provider.ts and provider-parts.ts describe each)`);
  return provider as Provider;
}

function meterOf(definition: ProviderDefinition | undefined, metrics: Metrics | undefined): Pick<ProviderComponents, 'meter'> {
  return definition?.metrics === undefined || metrics === undefined ? {} : { meter: metrics.declare(definition.metrics) };
}

/** Returns the paths of modules on a command line. */
export function modulesIn(words: readonly string[]): string[] {
  const option = '--provider';
  return words.flatMap((word, index) => {
    if (word === option) return words[index + 1] ?? [];
    return word.startsWith(`${option}=`) ? word.slice(option.length + 1) : [];
  });
}

/**
 * Loads the export `definition` of modules, which a module need not have. A module that cannot be loaded is left to `loadProviders`. Rejects
 * with UsageError when a definition uses a name that is taken.
 */
export async function loadDefinitions(paths: readonly string[], load: LoadModule): Promise<readonly ProviderDefinition[]> {
  shareContract();
  const definitions: ProviderDefinition[] = [];
  for (const path of paths) {
    const module = await load(pathToFileURL(resolve(path)).href).catch(() => ({}));
    const { definition } = module as { readonly definition?: ProviderDefinition };
    if (definition === undefined || findProvider(definition.name) !== undefined) continue;
    const code = Object.keys(definition.reasons ?? {}).find(isKnownCode);
    if (code !== undefined) throw wrong(path, `its reason ${code} exists already: give it another code`);
    const { config } = definition;
    if (config !== undefined && Object.hasOwn(heraldConfigSpec.fields, config.name))
      throw wrong(path, `spec.${config.name} of HeraldConfig exists already: give its part another name`);
    definitions.push(definition);
  }
  return definitions;
}

const shared = Symbol.for('herald/provider');
let isShared = false;

/**
 * Makes `import 'herald/provider'` resolve to this Herald, wherever the module is, so that nothing has to be installed beside the module.
 * The contract is handed over in memory, because there may be no file of it (`kubectl herald` is one file).
 */
function shareContract(): void {
  if (isShared) return;
  isShared = true;
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
