/** Bounds of direct server return; docs/reference/limits.md lists them. */

/**
 * Other nodes that packets are routed to. Each needs a rule and a routing table in each family. Packets for further nodes are translated.
 */
export const maximumTargets = 1_000;

/** Milliseconds between two checks for rules, routes and tunnels that another program removed, or that are no longer needed. */
export const pathCheckInterval = 10_000;

/** Milliseconds after which a command counts as hung and is killed. */
export const commandTimeout = 30_000;

/** Bytes of output read from one command. */
export const maximumOutputBytes = 16 * 1024 * 1024;
