/** The report that steady-connections.ts prints. */
export interface SteadyReport {
  /** The number of open connections. */
  readonly open: number;
  /** The number of requests that were answered since the start. */
  readonly answered: number;
  /** The longest time in milliseconds that a request took, or has waited so far. */
  readonly slowestMs: number;
  /** The number of connections that ended, by reason. */
  readonly broken: Readonly<Record<string, number>>;
}
