/**
 * A thread that counts the work of the codec for messages, as linear.test.ts sends them: `[message, session, times]`. It answers with the
 * count. The engine counts only code that it compiles after the count began, and of a thread it compiles all code anew.
 */
import { join } from 'node:path';
import { parentPort } from 'node:worker_threads';
import { Coverage } from '../../../fuzz/coverage.ts';
import type { WireSession } from '../../../../src/bgp/wire/index.ts';

export type CodecWork = readonly [message: Uint8Array, session: WireSession, times: number];

const coverage = new Coverage(join(import.meta.dirname, '../../../../src/bgp/wire'));
coverage.start();
const wire = await import('../../../../src/bgp/wire/index.ts');

parentPort?.on('message', ([message, options, times]: CodecWork) => {
  coverage.work();
  for (let i = 0; i < times; i++) decodeAndReturn(message, options);
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
  parentPort?.postMessage(coverage.work());
});

/** Decodes the message, and where possible describes or encodes it again. */
function decodeAndReturn(message: Uint8Array, options: WireSession): void {
  const result = wire.decodeMessage(message, options);
  if (result.ok && result.value.kind === 'notification') wire.describeNotification(result.value);
  if (result.ok) wire.encodeMessage(result.value, options);
}
