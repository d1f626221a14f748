import type { FuzzedCodec } from '../codec.ts';
import type { Random } from '../random.ts';
import { endless, exhaustive, frameOf } from './generate.ts';
import { checkAttack, checkFrame, type Attack } from './oracle.ts';

export function attackOf(random: Random): Attack {
  return {
    frames: Array.from({ length: 1 + random.below(60) }, () => frameOf(random)),
    waits: Array.from({ length: 4 }, () => random.pick([0, 0, 1, 30, 70, 400, 1_100])),
    onConflict: random.pick(['defend', 'withdraw']),
    everHeld: random.chance(2),
    ranks: random.pick([
      [0, 1],
      [1, 0],
    ]),
  };
}

export const codec: FuzzedCodec = {
  exhaustive,
  endless,
  check: checkFrame,
  checksPerSequence: 500,
  sequence(random) {
    const attack = attackOf(random);
    return { bytes: Uint8Array.from(Buffer.concat(attack.frames)), check: () => checkAttack(attack) };
  },
};
