/** Bounds of direct server return; docs/reference/limits.md lists them. */

/** Other nodes that packets are routed to: each is a rule and a routing table in each family. Packets for further ones are translated. */
export const maximumTargets = 1_000;

/** Milliseconds between two looks for rules, routes and tunnels that another program removed, or that are no longer needed. */
export const pathCheckInterval = 10_000;

/** Milliseconds after which a command is taken for hung and ended. */
export const commandTimeout = 30_000;

/** Bytes of output taken from one command. */
export const maximumOutputBytes = 16 * 1024 * 1024;
