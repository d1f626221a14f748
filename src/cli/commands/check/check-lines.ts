import type { CheckLine } from '../../../live/contract.ts';
import { isRecord } from '../../../lang/is-record.ts';
import { KubeError } from '../../../kube/error.ts';
import { LineFramer } from '../../../kube/format/json/line-framer.ts';
import { limits } from '../../limits.ts';

/** Opens the lines about one Service in the output of `herald check node -o json`. */
export interface CheckBegin {
  readonly type: 'begin';
  readonly service: string;
  readonly node: string;
}

/** The fields of each type that must be texts. */
const texts: Readonly<Record<(CheckLine | CheckBegin)['type'], readonly string[]>> = {
  begin: ['service', 'node'],
  probe: ['what', 'protocol', 'to', 'result'],
  unprobed: ['what', 'why'],
  end: [],
};

/** Reads lines of JSON, up to the bounds. Lines of other types, as from a later version, are left out. */
export async function* readCheckLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<CheckLine | CheckBegin> {
  const framer = new LineFramer(limits.checkLineBytes);
  let octets = 0;
  for await (const chunk of chunks) {
    octets += chunk.length;
    if (octets > limits.checkAnswerBytes) return;
    const lines = linesIn(framer, chunk);
    if (lines === undefined) return;
    for (const line of lines) {
      const read = lineIn(line);
      if (read !== undefined) yield read;
    }
  }
}

/** Undefined: a line is too long, and the rest cannot be read. */
function linesIn(framer: LineFramer, chunk: Uint8Array): string[] | undefined {
  try {
    return [...framer.push(Buffer.from(chunk))];
  } catch (error) {
    if (error instanceof KubeError) return undefined;
    throw error;
  }
}

/** A pod may be in foreign hands: its text must not control the terminal. */
function lineIn(line: string): CheckLine | CheckBegin | undefined {
  let value: unknown;
  try {
    value = JSON.parse(line) as unknown;
  } catch {
    return undefined;
  }
  if (!isRecord(value) || hasControls(JSON.stringify(value))) return undefined;
  const { type, hops = [] } = value;
  const needed = typeof type === 'string' && Object.hasOwn(texts, type) ? texts[type as keyof typeof texts] : undefined;
  const isWhole = needed?.every((name) => typeof value[name] === 'string') === true;
  const isPath = Array.isArray(hops) && hops.every((hop) => isRecord(hop) && typeof hop['from'] === 'string');
  return isWhole && isPath ? (value as unknown as CheckLine | CheckBegin) : undefined;
}

/** JSON writes C0 controls as escapes, and leaves the others as they are. */
const hasControls = (json: string): boolean => /\\(?:u00[01]|[bfnrt])|[\u007f-\u009f]/.test(json);
