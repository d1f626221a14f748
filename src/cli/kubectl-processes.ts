import { silentLog } from '../system/log.ts';
import type * as processes from './processes.ts';

/** In place of processes.ts where Herald is a plugin of kubectl: a terminal is no place for them, and they need what one file cannot hold. */
export const processCommands: typeof processes.processCommands = {};

export const example: typeof processes.example = 'kubectl herald explain service default/web';

export const processLog: typeof processes.processLog = async () => silentLog;
