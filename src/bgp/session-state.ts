/**
 * Idle: stopped, or pausing after a session ended (the connectRetry timer runs). Connect: dialing. Active: waiting for the
 * peer to connect, and, unless we are passive, pausing after a dial that failed.
 */
export const stateNames = ['Idle', 'Connect', 'Active', 'OpenSent', 'OpenConfirm', 'Established'] as const;
export type StateName = (typeof stateNames)[number];
