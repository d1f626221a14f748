import { nodes, type Node, type RecoveryBed, type Tor } from './recovery-bed.ts';
import type { RecordedSession } from './herald.ts';

/**
 * The faults between a node and its ToRs. Each function causes a fault, ends it and waits for the recovery. Times are in milliseconds and
 * end when the lab has seen the effect, which it looks for every 20 ms.
 */

const faultyTor = 'tor1';

export function nodeAddresses(tor: Tor, node: Node): readonly string[] {
  const [network, host] = [tor.slice(-1), node.slice(-1)];
  return [`10.${network}.0.1${host}`, `fd00:${network}::1${host}`];
}

const allNodeAddresses = (tor: Tor): readonly string[] => nodes.flatMap((node) => nodeAddresses(tor, node));

async function sessionsOfAll(bed: RecoveryBed, wanted: 'Established' | 'down', since = 0): Promise<readonly RecordedSession[]> {
  const found: RecordedSession[] = [];
  for (const node of nodes) found.push(...(await bed.untilSessions(node, faultyTor, wanted, 60_000, since)));
  return found;
}

/** Runs `clear bgp` for the sessions of node1. Returns the time until they are up again. */
export async function clearSessions(bed: RecoveryBed): Promise<number> {
  const cleared = Date.now();
  const commands = nodeAddresses(faultyTor, 'node1').map((address) => `clear bgp ${address}`);
  const router = bed.lab.router(faultyTor);
  await router.exec(['vtysh', '-N', router.namespace, ...commands.flatMap((command) => ['-c', command])]);
  await bed.untilSessions('node1', faultyTor, 'Established', 60_000, cleared);
  const up = Date.now() - cleared;
  await bed.untilRoutes(faultyTor, nodes);
  return up;
}

export interface RecoveryTimes {
  /** From the start of the fault until every affected node has noticed it. */
  readonly noticed: number;
  /** From the end of the fault until all sessions and routes are back. */
  readonly back: number;
  /** The sessions when the fault was noticed. */
  readonly sessions: readonly RecordedSession[];
}

/** Kills all FRR daemons of the ToR and starts them again. */
export async function restartTor(bed: RecoveryBed): Promise<RecoveryTimes> {
  const killed = Date.now();
  await bed.lab.router(faultyTor).kill();
  const sessions = await sessionsOfAll(bed, 'down');
  const noticed = Date.now() - killed;
  await bed.lab.router(faultyTor).restart();
  const started = Date.now();
  await bed.untilAll();
  return { noticed, back: Date.now() - started, sessions };
}

/** Interrupts the link of node1 to one ToR. `noticedByTor` is the time until the ToR's kernel sends elsewhere. */
export async function interruptLink(
  bed: RecoveryBed,
  how: 'unplugged' | 'cut',
): Promise<RecoveryTimes & { readonly noticedByTor: number }> {
  const lost = Date.now();
  await (how === 'unplugged' ? bed.lab.unplug('node1', faultyTor) : bed.lab.cut('node1', faultyTor));
  await bed.untilNoDirectPath(faultyTor, 'node1');
  const noticedByTor = Date.now() - lost;
  const sessions = await bed.untilSessions('node1', faultyTor, 'down');
  const noticed = Date.now() - lost;
  const returned = Date.now();
  await (how === 'unplugged' ? bed.lab.plug('node1', faultyTor) : bed.lab.heal('node1', faultyTor));
  await bed.untilAll();
  return { noticedByTor, noticed, back: Date.now() - returned, sessions };
}

/** Cuts the ToR's control plane off from its nodes: neither side gets packets of the other, not even a reset. Forwarding continues. */
async function silence(bed: RecoveryBed): Promise<void> {
  const network = faultyTor.slice(-1);
  const [v4, v6] = [`10.${network}.0.0/24`, `fd00:${network}::/64`];
  const table = `table inet silence {
  chain to { type filter hook output priority 0; ip daddr ${v4} meta l4proto tcp drop; ip6 daddr ${v6} meta l4proto tcp drop; }
  chain from { type filter hook input priority 0; ip saddr ${v4} meta l4proto tcp drop; ip6 saddr ${v6} meta l4proto tcp drop; }
}
`;
  await bed.lab.router(faultyTor).exec(['nft', '-f', '-'], { input: table });
}

/** Ends the silence. Also called for one that a failed test left. */
export async function endSilence(bed: RecoveryBed): Promise<void> {
  await bed.lab.router(faultyTor).exec(['nft', 'delete', 'table', 'inet', 'silence'], { check: false });
}

/** Kills the ToR's bgpd while no FIN or RST can get through. */
export async function loseBgpInSilence(bed: RecoveryBed): Promise<RecoveryTimes> {
  await silence(bed);
  await bed.lab.router(faultyTor).kill('bgpd');
  const lost = Date.now();
  const sessions = await sessionsOfAll(bed, 'down');
  const noticed = Date.now() - lost;
  await bed.lab.router(faultyTor).restart('bgpd');
  await endSilence(bed);
  const returned = Date.now();
  await bed.untilAll();
  return { noticed, back: Date.now() - returned, sessions };
}

export interface HalfOpen {
  /** The sessions while the nodes cannot know yet that their connections are lost. */
  readonly before: readonly RecordedSession[];
  /** Milliseconds from the moment at which packets of the ToR get through again. */
  readonly back: number;
  readonly sessions: readonly RecordedSession[];
}

/**
 * Replaces the ToR's bgpd by a process without connections, and the nodes do not notice: its kernel has no connection left that could end.
 * `prepare` configures that process before its packets get through.
 */
export async function loseConnections(bed: RecoveryBed, prepare?: () => Promise<void>): Promise<HalfOpen> {
  const lost = Date.now();
  await silence(bed);
  for (const address of allNodeAddresses(faultyTor))
    await bed.lab.router(faultyTor).exec(['ss', '-K', '-tn', 'dst', address.includes(':') ? `[${address}]` : address]);
  await bed.lab.router(faultyTor).restart('bgpd');
  await prepare?.();
  const before: RecordedSession[] = [];
  for (const node of nodes) before.push(...(await bed.sessions(node, faultyTor)));
  await endSilence(bed);
  const returned = Date.now();
  const sessions = await sessionsOfAll(bed, 'Established', lost);
  return { before, back: Date.now() - returned, sessions };
}

/** Configures neighbors by address instead of by prefix: a ToR can connect only to nodes that it knows. */
async function configureNeighbors(bed: RecoveryBed, more: readonly string[]): Promise<void> {
  const addresses = allNodeAddresses(faultyTor);
  const activate = (family: 4 | 6): string[] =>
    addresses.filter((address) => address.includes(':') === (family === 6)).map((address) => `neighbor ${address} activate`);
  await bed.lab
    .router(faultyTor)
    .configure([
      'router bgp 65101',
      ...more,
      ...addresses.flatMap((address) => [`neighbor ${address} remote-as 64512`, `neighbor ${address} timers connect 1`]),
      'address-family ipv4 unicast',
      ...activate(4),
      'exit-address-family',
      'address-family ipv6 unicast',
      ...activate(6),
      'exit-address-family',
    ]);
}

/** Makes the ToR's peers passive, so that they wait for its connection. */
function passive(manifest: string, timers: string): string {
  const change = (document: string): string => document.replace(timers, 'passive: true, holdTime: 60s, keepaliveTime: 20s');
  return manifest
    .split('\n---\n')
    .map((document) => (document.includes(`name: ${faultyTor}-`) ? change(document) : document))
    .join('\n---\n');
}

/**
 * Does the same with a ToR that connects to the nodes. The nodes have a hold time of 60 s and do not connect. `more` are lines of the ToR's
 * BGP configuration.
 */
export async function loseConnectionsAndConnect(bed: RecoveryBed, more: readonly string[]): Promise<HalfOpen> {
  const manifest = await bed.herald.read('20-herald.yaml');
  const edited = Date.now();
  await bed.herald.write('20-herald.yaml', passive(manifest, bed.timers));
  await sessionsOfAll(bed, 'down', edited);
  await configureNeighbors(bed, []);
  await sessionsOfAll(bed, 'Established', edited);
  const figures = await loseConnections(bed, () => configureNeighbors(bed, more));
  await bed.lab.router(faultyTor).restart('bgpd');
  const restored = Date.now();
  await bed.herald.write('20-herald.yaml', manifest);
  await sessionsOfAll(bed, 'Established', restored);
  await bed.untilAll();
  return figures;
}

export interface HeldBack {
  /** The sessions when both were held back. */
  readonly sessions: readonly RecordedSession[];
  /** The time that each session says it is held back for. */
  readonly waits: readonly number[];
}

/** Restarts bgpd of the other ToR until its sessions with node1 are held back. */
export async function flapUntilHeldBack(bed: RecoveryBed): Promise<HeldBack> {
  for (let flap = 1; flap <= 4; flap++) {
    const killed = Date.now();
    await bed.lab.router('tor2').restart('bgpd');
    if (flap < 4) for (const node of nodes) await bed.untilSessions(node, 'tor2', 'Established', 60_000, killed);
  }
  const sessions = await bed.lab.until('both sessions are held back', async (note) => {
    const found = note(await bed.sessions('node1', 'tor2'));
    return found.length === 2 && found.every(({ damping }) => damping?.until !== undefined) ? found : undefined;
  });
  return { sessions, waits: sessions.map(({ since, damping }) => Date.parse(damping?.until ?? '') - Date.parse(since)) };
}

export interface DuplicateAddress {
  readonly noticed: number;
  readonly back: number;
  readonly lost: RecordedSession;
}

/** Gives node2 an address of node1 towards one ToR as well, and lets the ToR believe node2. `meanwhile` runs when the node has noticed. */
export async function duplicateAddress(bed: RecoveryBed, meanwhile?: () => Promise<void>): Promise<DuplicateAddress> {
  const node2 = bed.lab.node('node2');
  const [link] = JSON.parse((await node2.exec(['ip', '-j', 'link', 'show', 'dev', faultyTor])).stdout) as { address: string }[];
  await node2.ip(`addr add 10.1.0.11/32 dev ${faultyTor}`);
  // The ToR believes the machine that answered last.
  const believed = Date.now();
  await bed.lab.router(faultyTor).ip(`neigh replace 10.1.0.11 dev br0 lladdr ${link?.address} nud permanent`);
  const lost = await bed.lab.until('node1 has lost its session', async (note) => {
    const session = note((await bed.herald.sessions('node1')).find(({ peer }) => peer === `${faultyTor}-v4`));
    return session !== undefined && session.state !== 'Established' && Date.parse(session.since) >= believed ? session : undefined;
  });
  const noticed = Date.now() - believed;
  await meanwhile?.();
  await node2.ip(`addr del 10.1.0.11/32 dev ${faultyTor}`);
  await bed.lab.router(faultyTor).ip('neigh del 10.1.0.11 dev br0');
  const gone = Date.now();
  await bed.untilAll();
  return { noticed, back: Date.now() - gone, lost };
}
