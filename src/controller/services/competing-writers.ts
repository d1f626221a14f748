import type { ServiceKey } from '../../model/objects/metadata.ts';
import { limits } from '../limits.ts';

interface Contest {
  /** When others wrote over ours, within the last while. */
  readonly times: readonly number[];
  /** We have not answered the last one yet: looking at it again does not make it two. */
  readonly open: boolean;
}

/**
 * Services whose addresses another program writes as well: a controller that believes them to be its own. Ours are written again a few
 * times, as the other may see its error; two that never give in would move the address for ever, so in the end we do. Pure.
 */
export class CompetingWriters {
  readonly #contests = new Map<ServiceKey, Contest>();

  /** Another one has written over what we wrote last. */
  recordOverwrite(key: ServiceKey, now: number): void {
    const before = this.#contests.get(key);
    const recent = (before?.times ?? []).filter((time) => now - time < limits.competingWriterMilliseconds);
    const counted = before?.open === true && recent.length > 0;
    this.#contests.set(key, { times: counted ? recent : [...recent, now].slice(-limits.overwrites), open: true });
  }

  /** Whether the other one has it his way: it was too often, and it has not been quiet for long enough since. */
  hasYielded(key: ServiceKey, now: number): boolean {
    const times = this.#contests.get(key)?.times ?? [];
    return times.length >= limits.overwrites && now - (times.at(-1) ?? 0) < limits.competingWriterMilliseconds;
  }

  /** What we think of it is written. */
  recordRewrite(key: ServiceKey): void {
    const before = this.#contests.get(key);
    if (before !== undefined) this.#contests.set(key, { ...before, open: false });
  }

  /** Those that have been quiet for long enough, and are forgotten. */
  takeExpired(now: number): ServiceKey[] {
    const ended = [...this.#contests].filter(([, { times }]) => now - (times.at(-1) ?? 0) >= limits.competingWriterMilliseconds);
    for (const [key] of ended) this.#contests.delete(key);
    return ended.map(([key]) => key);
  }

  forgetService(key: ServiceKey): void {
    this.#contests.delete(key);
  }

  /** Whoever changes the settings may have ended it. */
  forgetAll(): void {
    this.#contests.clear();
  }
}
