/** Bounds of one command. A listing of 300,000 elements is about 40 MB. */
export const commandBounds = { timeout: 60_000, outputBytes: 512 * 1024 * 1024 } as const;
