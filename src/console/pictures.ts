import { createHash } from 'node:crypto';
import { sleep, type Clock } from '../system/clock.ts';
import type { ListName, Pulse, Trouble } from './contract.ts';
import { limits } from './limits.ts';
import type { Facts, Picture } from './picture.ts';
import { addressesView } from './views/addresses.ts';
import { fabricView } from './views/fabric.ts';
import { timeText } from './views/reading-facts.ts';
import { servicesView } from './views/services.ts';

interface DrawnList {
  readonly json: string;
  /** Of the content without ages. */
  readonly version: string;
}

type Drawing = Readonly<Record<ListName, DrawnList>>;

/**
 * Reads again and again while a page wants to know, and keeps the lists of the last picture as they are sent. After a read that failed the
 * last picture stays, with the reason why it is old.
 */
export class Pictures {
  readonly #facts: Facts;
  readonly #clock: Clock;
  readonly #stopped: AbortSignal;
  #drawing: Drawing | undefined;
  #picture: Picture | undefined;
  #at: string | undefined;
  #trouble: Trouble | undefined;
  #usedAt = 0;
  #reading: Promise<void> | undefined;
  /** Resolved, and replaced, whenever the pulse changes. */
  #changed = Promise.withResolvers<void>();
  #wanted = Promise.withResolvers<void>();

  constructor(facts: Facts, { clock, stopped }: { readonly clock: Clock; readonly stopped: AbortSignal }) {
    this.#facts = facts;
    this.#clock = clock;
    this.#stopped = stopped;
  }

  /** Reads until the signal aborts. */
  async follow(): Promise<void> {
    this.#use();
    let due = this.#clock.now();
    while (!this.#stopped.aborted) {
      const began = this.#clock.now();
      await this.#read();
      const ended = this.#clock.now();
      const rest = limits.pauseFactor * (ended - began);
      // A read that a change caused does not put off the regular one.
      if (began >= due) due = ended + Math.max(this.#facts.intervalMilliseconds, rest);
      await sleep(this.#clock, Math.max(limits.soonestMilliseconds, rest), this.#stopped).catch(() => undefined);
      await this.#changeOr(due);
      if (this.#clock.now() - this.#usedAt > limits.unusedMilliseconds) await Promise.race([this.#wanted.promise, aborted(this.#stopped)]);
    }
    this.#announce();
  }

  /** Returns a list as JSON. Undefined: nothing could be read yet, and `pulse` says why. */
  async list(name: ListName): Promise<DrawnList | undefined> {
    this.#use();
    if (this.#drawing === undefined) await this.#read();
    return this.#drawing?.[name];
  }

  pulse(): Pulse {
    const versions = Object.fromEntries(Object.entries(this.#drawing ?? {}).map(([name, { version }]) => [name, version]));
    return {
      versions,
      ...(this.#at === undefined ? {} : { at: this.#at }),
      ...(this.#picture === undefined ? {} : { from: this.#picture.from }),
      ...(this.#trouble === undefined ? {} : { trouble: this.#trouble }),
    };
  }

  /** Yields the pulse at once, whenever something changes, and as a sign of life. Ends with the console. */
  async *pulses(): AsyncGenerator<Pulse> {
    while (!this.#stopped.aborted) {
      this.#use();
      const { promise } = this.#changed;
      yield this.pulse();
      const alive = new AbortController();
      await Promise.race([promise, sleep(this.#clock, limits.aliveMilliseconds, alive.signal).catch(() => undefined)]);
      alive.abort();
    }
  }

  /** Resolves at the given time, or when the facts hear of a change. */
  async #changeOr(due: number): Promise<void> {
    const wait = due - this.#clock.now();
    if (wait <= 0) return;
    const over = new AbortController();
    const pause = sleep(this.#clock, wait, AbortSignal.any([over.signal, this.#stopped])).catch(() => undefined);
    await Promise.race([pause, this.#facts.changed?.() ?? pause]);
    over.abort();
  }

  #use(): void {
    this.#usedAt = this.#clock.now();
    this.#wanted.resolve();
    this.#wanted = Promise.withResolvers();
  }

  /** Callers at the same time share one read. */
  #read(): Promise<void> {
    this.#reading ??= this.#readOnce().finally(() => (this.#reading = undefined));
    return this.#reading;
  }

  async #readOnce(): Promise<void> {
    const before = JSON.stringify([this.pulse().versions, this.#trouble]);
    try {
      const picture = await this.#facts.read();
      if (picture !== this.#picture) this.#drawing = this.#draw(picture);
      this.#picture = picture;
      this.#at = timeText(this.#clock.date().getTime());
      this.#trouble = undefined;
    } catch (error) {
      if (this.#stopped.aborted) return;
      const message = error instanceof Error ? error.message : String(error);
      this.#trouble = {
        message: String(this.#facts.redact(message)),
        since: this.#trouble?.since ?? timeText(this.#clock.date().getTime()),
      };
    }
    if (JSON.stringify([this.pulse().versions, this.#trouble]) !== before) this.#announce();
  }

  #draw(picture: Picture): Drawing {
    const services = servicesView(picture);
    const redact = (value: unknown): unknown => this.#facts.redact(value);
    return {
      // Names and addresses of 50,000 Services have no secrets. Their sentences may quote what a user wrote.
      services: drawn({ ...services, notes: redact(services.notes), lines: redact(services.lines) }, (view) =>
        JSON.stringify({ ...view, at: undefined }),
      ),
      fabric: drawn(redact(fabricView(picture)) as object, withoutAges),
      addresses: drawn(redact(addressesView(picture)) as object, withoutAges),
    };
  }

  #announce(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}

function drawn<T extends object>(view: T, lastingJson: (view: T) => string): DrawnList {
  const version = createHash('sha256').update(lastingJson(view)).digest('base64url');
  return { json: JSON.stringify(view), version: version.slice(0, 16) };
}

/** The rows of 50,000 Services have no ages, so they are not looked through for them. */
function withoutAges(view: object): string {
  return JSON.stringify(view, (key, value: unknown) => (ages.has(key) ? undefined : value));
}

/** Fields that change although nothing happened. `since` is counted back from an age in whole seconds, so it wavers. */
const ages = new Set(['at', 'since', 'words']);

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
