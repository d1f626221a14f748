import { join } from 'node:path';
import type { SpeakerOptions } from '../../src/bgp/index.ts';
import { startProgram, type CalledProcess } from './called-process.ts';

export type SpeakerProcess = CalledProcess;

/** Starts the speaker in a process of its own, inside a namespace, that takes calls over a pipe. */
export function startSpeaker(namespace: string, options: SpeakerOptions = {}): SpeakerProcess {
  return startProgram(namespace, join(import.meta.dirname, '../lab/bgp-frr-speaker.ts'), options);
}
