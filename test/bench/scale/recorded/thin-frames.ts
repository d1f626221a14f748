import { openEnvelope } from '../../../../src/kube/format/protobuf/envelope.ts';
import { LengthFramer } from '../../../../src/kube/format/protobuf/length-framer.ts';
import { message } from '../../../../src/kube/format/protobuf/message.ts';
import { text } from '../../../../src/kube/format/protobuf/types.ts';
import { WireReader } from '../../../../src/kube/format/protobuf/wire-reader.ts';
import { limits } from '../../../../src/kube/limits.ts';
import { enclosed, field, frame, framed } from '../../../unit/kube/format/protobuf/encode.ts';

/** The first field of an event is its type: a key, a length, and the text. */
const typeAt = 2;
const bookmark = 0x42;
const error = 0x45;
const versioned = message({ metadata: [1, message({ resourceVersion: [6, text] })] });

/** Does with a watch in protobuf what ThinStream does with one in JSON. */
export class ThinFrames {
  events = 0;
  readonly #framer = new LengthFramer(limits.lineBytes);
  #last: Buffer | undefined;
  #isInitial: boolean;

  constructor(isInitial: boolean) {
    this.#isInitial = isInitial;
  }

  /** Takes bytes of the watch. Returns the frames that must be read at once. */
  push(chunk: Buffer): Buffer[] {
    const now: Buffer[] = [];
    for (const one of this.#framer.push(chunk)) {
      if (one[typeAt] !== bookmark && one[typeAt] !== error) {
        this.events++;
        this.#last = one;
        continue;
      }
      if (one.includes('k8s.io/initial-events-end')) this.#isInitial = false;
      this.#last = undefined;
      now.push(framed(one));
    }
    return now;
  }

  /** Returns a bookmark with the version of the last event since the last call, in place of the events. */
  version(): Buffer | undefined {
    if (this.#isInitial || this.#last === undefined) return undefined;
    const { kind, raw } = openEnvelope(this.#last.subarray(this.#last.indexOf('k8s\0')));
    this.#last = undefined;
    const { resourceVersion } = versioned.decode(new WireReader(raw))['metadata'] as { readonly resourceVersion: string };
    return frame('BOOKMARK', enclosed(kind, field(1, field(6, resourceVersion))));
  }
}
