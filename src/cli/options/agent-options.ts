import { InvalidArgumentError, Option, type Command } from 'commander';
import type { ListenAddress } from '../../bgp/index.ts';
import { isSubdomainName } from '../../model/reading/metadata.ts';
import { parseAddress } from '../../net/address.ts';
import type { DaemonSetName } from '../../sources/kubernetes/installation.ts';
import type { SocketAddress } from '../../system/http/http-listener.ts';
import { readWhere } from './telemetry-options.ts';

export interface AgentProcessOptions {
  readonly bfdPriority: 'real-time' | 'normal';
  readonly kernelSettings: 'set' | 'report';
  readonly filters: 'allow' | 'report';
  readonly procSys?: string;
  readonly healthzBindAddress: readonly SocketAddress[];
  readonly bgpListen?: readonly ListenAddress[];
  readonly onStop: 'restart' | 'shutdown';
  readonly daemonset?: DaemonSetName;
}

/** Adds the options of a process that runs an agent. `herald run` has no cluster and no container, so it has fewer. */
export function addAgentOptions(command: Command, of: 'agent' | 'run'): Command {
  for (const make of of === 'agent' ? ofAgent : ofRun) command.addOption(make());
  return command;
}

/**
 * For an agent on a node where another program forwards: before the administrator has written a HeraldConfig, the agent must not act on its
 * defaults.
 */
const waitForConfigOption = (): Option =>
  new Option(
    '--wait-for-config',
    'change nothing on the node before HeraldConfig/default exists, and keep the last one in force if it is deleted; without this option the defaults apply, which are for nodes without kube-proxy',
  ).conflicts('source');

/** Undefined when not given: the agent listens on port 179 of every address while a BGPPeer of the node is passive. */
export const bgpListenOption = (): Option =>
  new Option(
    '--bgp-listen <where>',
    '[ADDRESS:]PORT where BGP peers may connect, or none (default: port 179, while a BGPPeer of this node is passive)',
  ).argParser(readListen);

const onStopOption = (): Option =>
  new Option(
    '--on-stop <mode>',
    'restart: BGP peers with graceful restart keep the routes; shutdown: routes are announced as a last resort for 5 s, then they are withdrawn from all peers',
  )
    .choices(['restart', 'shutdown'])
    .default('restart');

/** kube-proxy's option, with its default. */
const healthzOption = (): Option =>
  new Option(
    '--healthz-bind-address <where>',
    'ADDRESS[:PORT] where /healthz and /livez report the health of the node, or none; 0.0.0.0 and [::] are all addresses of both families',
  )
    .argParser((text) => readWhere(text, 10_256, false).places)
    .default(readWhere('0.0.0.0', 10_256, false).places, '0.0.0.0:10256');

const kernelSettingsOption = (): Option =>
  new Option('--kernel-settings <mode>', 'set: correct kernel settings that break forwarding; report: only report them')
    .choices(['set', 'report'])
    .default('set');

const filtersOption = (): Option =>
  new Option(
    '--filters <mode>',
    'report: only report filters of other programs that drop packets of Services; allow: insert rules that accept them, and insert them again when they are gone',
  )
    .choices(['allow', 'report'])
    .default('report');

const procSysOption = (): Option =>
  new Option(
    '--proc-sys <dir>',
    'directory of kernel settings; a container needs a writable mount, because its /proc/sys is read-only',
  ).default('/proc/sys');

const bfdPriorityOption = (): Option =>
  new Option(
    '--bfd-priority <mode>',
    'priority of the BFD thread: real-time (SCHED_FIFO) where CAP_SYS_NICE allows it, which intervals below 100 ms need, or normal',
  )
    .choices(['real-time', 'normal'])
    .default('real-time');

const daemonSetOption = (): Option =>
  new Option(
    '--daemonset <namespace/name>',
    'the DaemonSet that runs this agent: if it or its namespace was deleted, SIGTERM withdraws the routes from all peers and removes everything from the kernel of this node',
  ).argParser(readDaemonSet);

/** The command then does nothing else, and --node is not needed. */
const cleanupHeraldOption = (): Option =>
  new Option(
    '--cleanup',
    'remove everything that a stopped agent left in the kernel of this node, and exit: 0 all was removed, 1 something is left, 3 refused (an agent runs)',
  ).implies({ node: '' });

const cleanupOption = (): Option =>
  new Option(
    '--cleanup-kube-proxy',
    'remove what kube-proxy left on this node, print it, and exit: 0 all was removed, 1 something is left, 3 refused (kube-proxy still runs, or Herald does not forward yet)',
  ).implies({ node: '' });

const ofRun = [bgpListenOption, healthzOption, bfdPriorityOption, kernelSettingsOption, filtersOption, onStopOption];

const ofAgent = [
  waitForConfigOption,
  bgpListenOption,
  healthzOption,
  bfdPriorityOption,
  kernelSettingsOption,
  filtersOption,
  procSysOption,
  onStopOption,
  daemonSetOption,
  cleanupHeraldOption,
  cleanupOption,
];

function readDaemonSet(text: string): DaemonSetName {
  const [namespace = '', name = '', ...more] = text.split('/');
  // The names become parts of a path.
  if (!isSubdomainName(namespace) || !isSubdomainName(name) || more.length > 0) {
    throw new InvalidArgumentError('Write the namespace and the name, such as herald-system/herald-agent.');
  }
  return { namespace, name };
}

function readListen(text: string): readonly ListenAddress[] {
  if (text === 'none') return [];
  const [, bracketed, plain, digits = ''] = /^(?:\[([^\]]*)\]:|([^:]*):)?([0-9]{1,5})$/.exec(text) ?? [];
  const port = Number(digits);
  if (digits === '' || port < 1 || port > 65_535) throw new InvalidArgumentError('Write none, a port, 192.0.2.1:179 or [2001:db8::1]:179.');
  const host = bracketed ?? plain;
  if (host === undefined) return [{ port }];
  const address = parseAddress(host);
  if (!address.ok) throw new InvalidArgumentError(`${JSON.stringify(host)}: ${address.problem}.`);
  return [{ address: address.value, port }];
}
