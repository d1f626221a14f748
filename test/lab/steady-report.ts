/** What steady-connections.ts prints. */
export interface SteadyReport {
  /** Connections that are open. */
  readonly open: number;
  /** Questions that were answered since the start. */
  readonly answered: number;
  /** The longest that an answer took, or that one is waited for. */
  readonly slowestMs: number;
  /** Connections that ended, by why. */
  readonly broken: Readonly<Record<string, number>>;
}
