/**
 * Loaded into an agent by --import. Writes the longest turn of its event loop to the file TURN_METER_FILE, in seconds of processor time of
 * that thread, so that other programs on the machine do not count. Begins when a server listens: probes cannot come before.
 */
import { subscribe } from 'node:diagnostics_channel';
import { renameSync, writeFileSync } from 'node:fs';
import process from 'node:process';
import { isMainThread } from 'node:worker_threads';

const file = process.env.TURN_METER_FILE;
if (isMainThread && file !== undefined) {
  let before;
  let longest = 0;
  let written = -1;
  subscribe('tracing:net.server.listen:asyncEnd', () => (before ??= process.threadCpuUsage()));
  setInterval(() => {
    if (before === undefined) return;
    const { user, system } = process.threadCpuUsage(before);
    before = process.threadCpuUsage();
    longest = Math.max(longest, (user + system) / 1e6);
  }, 2).unref();
  setInterval(() => {
    if (longest === written) return;
    written = longest;
    writeFileSync(`${file}.new`, String(longest));
    renameSync(`${file}.new`, file);
  }, 500).unref();
}
