import type { HeraldConfig } from '../../../model/kinds/types.ts';
import { readingModeOf, sameReadingMode, type ReadingMode } from '../../../model/metallb/read.ts';
import type { Change, HeraldObject, KindName } from '../../../model/store/snapshot.ts';
import type { Destination } from './collection.ts';

interface ConfigGateEvents {
  /** Relists the kinds that this mode reads differently. Resolves when everything was read. */
  readonly read: (mode: ReadingMode) => Promise<void>;
  readonly changed: (changes: readonly Change[]) => void;
}

/**
 * Passes HeraldConfig into the store. HeraldConfig decides how objects are read, and they must be read so before anything acts on it: a
 * Service that becomes ours before its annotations are understood would get an address that it did not ask for. So compat comes into force
 * after everything was read, and goes out of force before.
 */
export class CompatModeSwitch implements Destination {
  readonly #destination: Destination;
  readonly #events: ConfigGateEvents;
  #latest: HeraldConfig | undefined;
  #mode = readingModeOf(undefined);
  #isOpen = true;
  #switching = false;

  constructor(destination: Destination, events: ConfigGateEvents) {
    this.#destination = destination;
    this.#events = events;
  }

  get mode(): ReadingMode {
    return this.#mode;
  }

  /** From here on HeraldConfig changes go through the switch; before, nothing else was read. */
  close(): void {
    this.#isOpen = false;
  }

  upsert(object: HeraldObject): Change[] {
    return object.kind === 'HeraldConfig' ? this.#arrived(object) : this.#destination.upsert(object);
  }

  remove(): Change[] {
    return this.#arrived(undefined);
  }

  #arrived(config: HeraldConfig | undefined): Change[] {
    this.#latest = config;
    if (this.#isOpen) this.#mode = readingModeOf(config);
    if (this.#switching) return [];
    if (sameReadingMode(readingModeOf(config), this.#mode)) return this.#file();
    void this.#switch();
    return [];
  }

  async #switch(): Promise<void> {
    this.#switching = true;
    for (let mode = readingModeOf(this.#latest); !sameReadingMode(mode, this.#mode); mode = readingModeOf(this.#latest)) {
      if (mode.compat.every((program) => this.#mode.compat.includes(program))) this.#events.changed(this.#file());
      await this.#events.read(mode);
      this.#mode = mode;
    }
    this.#switching = false;
    this.#events.changed(this.#file());
  }

  #file(): Change[] {
    const kind: KindName = 'HeraldConfig';
    return this.#latest === undefined ? this.#destination.remove(kind, 'default') : this.#destination.upsert(this.#latest);
  }
}
