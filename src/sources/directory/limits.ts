/** Bounds of the directory source. */
export const limits = {
  fileBytes: 8 * 1024 * 1024,
  /** Documents in one file. */
  documents: 20_000,
  /** YAML aliases that one document may expand to. */
  aliases: 100,
  /** Files read at the same time. */
  reads: 32,
  /** Problems kept for one file and for the whole directory. */
  problemsPerFile: 200,
  problems: 2000,
  /** Broken files whose last good version is recorded. */
  lastGoodFiles: 1000,
  /** Folders below the directory. */
  depth: 16,
  /** A batch begins this long after the last event, so that writers have finished... */
  quietMilliseconds: 20,
  /** ...and at the latest this long after the first. */
  latestMilliseconds: 200,
  /** Files whose events the kernel dropped are found within this time. */
  rescanMilliseconds: 60_000,
  /** Attempts to take a lock that other processes take and release meanwhile. */
  lockTurns: 100,
  /** Shortest and longest delay between two attempts to take a lock on a full file system. */
  lockRetryMilliseconds: 500,
  lockRetryMaximumMilliseconds: 10_000,
} as const;
