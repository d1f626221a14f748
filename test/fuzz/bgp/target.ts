import type { FuzzedCodec } from '../codec.ts';
import { endless, exhaustive, stream } from './generate.ts';
import { checkMessage, checkStream, sessions } from './oracle.ts';

export const codec: FuzzedCodec = {
  exhaustive,
  endless,
  check: checkMessage,
  checksPerSequence: 10,
  sequence(random) {
    const bytes = stream(random);
    const cuts = Array.from({ length: 5 }, () => random.below(80));
    const session = random.pick(sessions);
    return { bytes, check: () => checkStream(bytes, cuts, session) };
  },
};
