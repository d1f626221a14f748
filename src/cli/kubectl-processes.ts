import { silentLog } from '../system/log.ts';
import type * as processes from './processes.ts';

/**
 * Replaces processes.ts in the kubectl plugin. The long-running processes do not belong on a terminal, and they need koffi, which one
 * file cannot hold.
 */
export const processCommands: typeof processes.processCommands = {};

export const calledAs: typeof processes.calledAs = 'kubectl herald';

export const example: typeof processes.example = 'kubectl herald explain service default/web';

export const processLog: typeof processes.processLog = async () => silentLog;
