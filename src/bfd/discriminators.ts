import type { Random } from '../system/random.ts';

/** Random, so that a restarted program does not take up its old ones (RFC 5880 10); unique among the sessions and never 0. */
export function newDiscriminator(random: Random, taken: { has(discriminator: number): boolean }): number {
  for (;;) {
    const discriminator = Math.floor(random() * 0x1_0000_0000);
    if (discriminator !== 0 && !taken.has(discriminator)) return discriminator;
  }
}
