import type { CheckLine } from '../../../live/contract.ts';
import { isRecord } from '../../../lang/is-record.ts';
import { LineFramer } from '../../../kube/format/json/line-framer.ts';
import { limits } from '../../limits.ts';

/** Opens the lines about one Service in the output of `herald check node -o json`. */
export interface CheckBegin {
  readonly type: 'begin';
  readonly service: string;
  readonly node: string;
}

const types: ReadonlySet<unknown> = new Set<(CheckLine | CheckBegin)['type']>(['begin', 'probe', 'unprobed', 'end']);

/** Reads lines of JSON. Lines of other types, as from a later version, are left out. */
export async function* readCheckLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<CheckLine | CheckBegin> {
  const framer = new LineFramer(limits.checkLineBytes);
  let octets = 0;
  for await (const chunk of chunks) {
    octets += chunk.length;
    if (octets > limits.checkAnswerBytes) return;
    for (const line of framer.push(Buffer.from(chunk))) {
      const read = lineIn(line);
      if (read !== undefined) yield read;
    }
  }
}

function lineIn(text: string): CheckLine | CheckBegin | undefined {
  try {
    const value = JSON.parse(text) as unknown;
    return isRecord(value) && types.has(value['type']) ? (value as unknown as CheckLine | CheckBegin) : undefined;
  } catch {
    return undefined;
  }
}
