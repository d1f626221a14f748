/**
 * The states of a session (RFC 4271 8.2.2).
 * - Idle: stopped, or waiting after a session ended (the connectRetry timer runs).
 * - Connect: dialing.
 * - Active: waiting for the peer to connect. Unless the session is passive, this is also the wait after a failed dial.
 */
export type StateName = 'Idle' | 'Connect' | 'Active' | 'OpenSent' | 'OpenConfirm' | 'Established';

/** In the order in which a session passes through them. */
export const stateNames: readonly StateName[] = ['Idle', 'Connect', 'Active', 'OpenSent', 'OpenConfirm', 'Established'];
