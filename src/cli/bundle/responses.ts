import { limits } from '../limits.ts';

/** All of an answer, at most `maximum` octets of it. Rejects with the reason of the signal. */
export async function textOf(chunks: AsyncIterable<Uint8Array>, maximum: number): Promise<string> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    parts.push(chunk);
    length += chunk.length;
    if (length >= maximum) break;
  }
  return Buffer.concat(parts).subarray(0, maximum).toString('utf8');
}

/** One question may not hold up the others. */
export function inTime(stopped: AbortSignal): AbortSignal {
  return AbortSignal.any([stopped, AbortSignal.timeout(limits.bundleAnswerMilliseconds)]);
}
