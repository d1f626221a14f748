/** Bounds of the directory source. */
export const limits = {
  fileBytes: 8 * 1024 * 1024,
  /** Documents in one file. */
  documents: 20_000,
  /** YAML aliases that one document may expand to. */
  aliases: 100,
  /** Files read at the same time. */
  reads: 32,
  /** Problems that are kept of one file, and of the whole directory. */
  problemsPerFile: 200,
  problems: 2000,
  /** Folders below the directory. */
  depth: 16,
  /** A batch begins this long after the last event, so that a program has finished writing... */
  quietMilliseconds: 20,
  /** ...and at the latest this long after the first. */
  latestMilliseconds: 200,
  /** Files whose events the kernel dropped are found after this at the latest. */
  rescanMilliseconds: 60_000,
  /** Attempts to take a lock that other processes take and give up meanwhile. */
  lockTurns: 100,
} as const;
