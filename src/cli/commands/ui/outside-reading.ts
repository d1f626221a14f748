import { defined } from '../../../lang/defined.ts';
import type { OutsideResources } from '../../../console/picture.ts';
import { reasonLine } from '../../../decisions/verdict/verdict-text.ts';
import type { ServicePreview } from '../../../explain/provider/provider.ts';
import type { ServiceKey } from '../../../model/objects/metadata.ts';
import type { Clock } from '../../../system/clock.ts';
import type { CommandContext } from '../../context/command-context.ts';
import { definitions, enabledDefinitions } from '../../context/definitions.ts';
import { podReaderOf } from '../../reading/pod-reader.ts';
import type { Reading } from '../../reading/reading.ts';
import { previewProviders, type OutsideOptions } from '../plan-outcome.ts';

/** Resources outside the cluster are not read again sooner, nor sooner than four times the duration of the last reading. */
const restMilliseconds = 15_000;
const restFactor = 4;

/** Reads resources outside the cluster, while the last ones are shown. */
export class OutsideReading {
  readonly #context: CommandContext;
  readonly #options: OutsideOptions;
  readonly #clock: Clock;
  #last: OutsideResources | undefined;
  #previews: ReadonlyMap<ServiceKey, ServicePreview> = new Map();
  #dueAt = 0;
  #running: Promise<OutsideResources> | undefined;

  constructor(context: CommandContext, options: OutsideOptions) {
    this.#context = context;
    this.#options = options;
    this.#clock = context.clock;
  }

  /** Returns what was last seen of the resources of a Service. Undefined: nothing yet, or it has none. */
  previewOf(service: ServiceKey): ServicePreview | undefined {
    return this.#previews.get(service);
  }

  /** Returns the last resources at once, and begins to read them again when they are old. The first call waits for them. */
  async read(reading: Reading): Promise<OutsideResources> {
    if (this.#clock.now() >= this.#dueAt) this.#running ??= this.#readNow(reading).finally(() => (this.#running = undefined));
    return this.#last ?? this.#running ?? { services: [], notes: [] };
  }

  async #readNow(reading: Reading): Promise<OutsideResources> {
    const began = this.#clock.now();
    try {
      const { previews, resources } = await resourcesOf(this.#context, this.#options, reading);
      this.#last = resources;
      this.#previews = new Map(previews.map((one) => [one.service, one]));
    } catch (error) {
      const because = error instanceof Error ? error.message : String(error);
      this.#last = { services: this.#last?.services ?? [], notes: [`Resources outside the cluster cannot be read: ${because}`] };
    }
    const ended = this.#clock.now();
    this.#dueAt = ended + Math.max(restMilliseconds, restFactor * (ended - began));
    return this.#last;
  }
}

async function resourcesOf(
  context: CommandContext,
  options: OutsideOptions,
  reading: Reading,
): Promise<{ readonly resources: OutsideResources; readonly previews: readonly ServicePreview[] }> {
  const { snapshot } = reading;
  const both = { current: snapshot, proposed: snapshot, ...defined({ readPod: podReaderOf(reading) }) };
  const { previews } = await previewProviders(context, options, both);
  const services = previews.flatMap(({ service, resources }): OutsideResources['services'][number][] =>
    resources === undefined ? [] : [{ service, resources }],
  );
  const failed = previews.flatMap((one) => one.failed ?? []);
  const enabled = enabledDefinitions(options);
  const undrawn = definitions().flatMap(({ name, shipped, wording }) =>
    shipped !== true || wording === undefined || enabled.some((one) => one.name === name)
      ? []
      : [`${wording.resources} ${wording.undrawn}`],
  );
  const notes = [...new Set([...failed.map((one) => reasonLine(one)), ...(previews.length === 0 ? undrawn : [])])];
  return { resources: { services, notes }, previews };
}
