import type { ServiceKey } from '../../model/objects/metadata.ts';
import { limits } from '../limits.ts';

interface Contest {
  /** Times of the recent overwrites. */
  readonly times: readonly number[];
  /** True until Herald has written again: seeing the same overwrite twice counts once. */
  readonly open: boolean;
}

/**
 * Services whose addresses another program, which considers them its own, writes as well. Herald rewrites its addresses a few times,
 * because the other program may stop. Two writers that never stop would move the address for ever, so Herald then yields. Pure.
 */
export class CompetingWriters {
  readonly #contests = new Map<ServiceKey, Contest>();

  /** Counts an overwrite of what Herald wrote last. */
  recordOverwrite(key: ServiceKey, now: number): void {
    const before = this.#contests.get(key);
    const recent = (before?.times ?? []).filter((time) => now - time < limits.competingWriterMilliseconds);
    const counted = before?.open === true && recent.length > 0;
    this.#contests.set(key, { times: counted ? recent : [...recent, now].slice(-limits.overwrites), open: true });
  }

  /** Returns true while Herald yields: there were too many overwrites, and the last one is recent. */
  hasYielded(key: ServiceKey, now: number): boolean {
    const times = this.#contests.get(key)?.times ?? [];
    return times.length >= limits.overwrites && now - (times.at(-1) ?? 0) < limits.competingWriterMilliseconds;
  }

  /** Notes that Herald has written after the overwrite. */
  recordRewrite(key: ServiceKey): void {
    const before = this.#contests.get(key);
    if (before !== undefined) this.#contests.set(key, { ...before, open: false });
  }

  /** Forgets and returns the Services without a recent overwrite. */
  takeExpired(now: number): ServiceKey[] {
    const ended = [...this.#contests].filter(([, { times }]) => now - (times.at(-1) ?? 0) >= limits.competingWriterMilliseconds);
    for (const [key] of ended) this.#contests.delete(key);
    return ended.map(([key]) => key);
  }

  forgetService(key: ServiceKey): void {
    this.#contests.delete(key);
  }

  /** Called when settings change, because that may have stopped the other program. */
  forgetAll(): void {
    this.#contests.clear();
  }
}
