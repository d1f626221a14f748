import { InvalidArgumentError, Option, type Command } from 'commander';
import type { ListenAddress } from '../../bgp/index.ts';
import { formatAddress, parseAddress } from '../../net/address.ts';
import { isSubdomainName } from '../../model/reading/metadata.ts';
import type { DaemonSetName } from '../../sources/kubernetes/installation.ts';
import type { SocketAddress } from '../../system/http/http-listener.ts';

/**
 * The namespace of Herald's pods in the shipped manifests and the chart. Also the namespace of the controllers' Lease, unless a pod or an
 * option says otherwise.
 */
export const defaultNamespace = 'herald-system';

/** Options that several commands share, with one wording. */
export const sourceOption = (): Option => new Option('--source <dir>', 'directory of manifests; records are kept in its folder .herald');

export interface ClusterOptions {
  readonly kubeconfig?: string;
  readonly apiserver?: URL;
}

/**
 * Adds the options that choose a cluster, for commands that may also have --source. `otherwise` describes the default cluster in the help.
 */
export function addClusterOptions(command: Command, otherwise = 'the cluster of this pod'): Command {
  return command
    .addOption(new Option('--kubeconfig <file>', `the cluster of this file's current context (default: ${otherwise})`).conflicts('source'))
    .addOption(
      new Option(
        '--apiserver <url>',
        'address of the API server, in place of the one in the credentials: needed where the agent itself makes the ClusterIP of the API server work',
      )
        .argParser(readApiServer)
        .conflicts('source'),
    );
}

/** Options of a command that uses the caller's own credentials. They are found in the same places as kubectl finds them. */
export interface CallerOptions extends ClusterOptions {
  readonly context?: string;
}

/** Adds the options that choose the caller's cluster. They conflict with --source. */
export function addCallerOptions(command: Command): Command {
  return addClusterOptions(command, 'as kubectl finds it: $KUBECONFIG, ~/.kube/config, else the pod').addOption(
    new Option('--context <name>', 'a context of the kubeconfig, in place of the current one').conflicts('source'),
  );
}

export interface ElectionOptions {
  /** Absent for an agent, which needs no election. */
  readonly leaderElect?: 'true' | 'false';
  readonly leaderElectNamespace?: string;
}

/** Options of a controller in a cluster. */
export function addElectionOptions(command: Command): Command {
  return command
    .addOption(
      new Option(
        '--leader-elect <bool>',
        'elect one of several controllers with a Lease; false: this controller runs alone, without a Lease',
      )
        .choices(['true', 'false'])
        .default('true'),
    )
    .addOption(
      new Option('--leader-elect-namespace <name>', 'namespace of the Lease (default: that of the pod, else herald-system)').conflicts(
        'source',
      ),
    );
}

export const logLevelOption = (): Option =>
  new Option('--log-level <level>', 'lowest level that is logged').choices(['debug', 'info', 'warn', 'error']).default('info');

export const logFormatOption = (): Option =>
  new Option('--log-format <format>', 'json: one JSON object a line, for programs; text: for people')
    .choices(['json', 'text'])
    .default('json');

export interface DetailOptions {
  readonly output: 'text' | 'wide' | 'json';
}

export const detailOption = (): Option =>
  new Option('-o, --output <format>', 'text: one screen; wide: every node with its sessions and routes, and every pool; json')
    .choices(['text', 'wide', 'json'])
    .default('text');

export const outputOption = (): Option => new Option('-o, --output <format>', 'text or json').choices(['text', 'json']).default('text');

/**
 * For an agent on a node where another program forwards: before the administrator has written a HeraldConfig, the agent must not act on its
 * defaults.
 */
export const waitForConfigOption = (): Option =>
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

export const onStopOption = (): Option =>
  new Option(
    '--on-stop <mode>',
    'restart: BGP peers with graceful restart keep the routes; shutdown: routes are announced as a last resort for 5 s, then they are withdrawn from all peers',
  )
    .choices(['restart', 'shutdown'])
    .default('restart');

/** kube-proxy's option, with its default. */
export const healthzOption = (): Option =>
  new Option(
    '--healthz-bind-address <where>',
    'ADDRESS[:PORT] where /healthz and /livez report the health of the node, or none; 0.0.0.0 and [::] are all addresses of both families',
  )
    .argParser(readHealthz)
    .default(readHealthz('0.0.0.0'), '0.0.0.0:10256');

export const kernelSettingsOption = (): Option =>
  new Option('--kernel-settings <mode>', 'set: correct kernel settings that break forwarding; report: only report them')
    .choices(['set', 'report'])
    .default('set');

export const procSysOption = (): Option =>
  new Option(
    '--proc-sys <dir>',
    'directory of kernel settings; a container needs a writable mount, because its /proc/sys is read-only',
  ).default('/proc/sys');

export const bfdPriorityOption = (): Option =>
  new Option(
    '--bfd-priority <mode>',
    'priority of the BFD thread: real-time (SCHED_FIFO) where CAP_SYS_NICE allows it, which intervals below 100 ms need, or normal',
  )
    .choices(['real-time', 'normal'])
    .default('real-time');

export const daemonSetOption = (): Option =>
  new Option(
    '--daemonset <namespace/name>',
    'the DaemonSet that runs this agent: if it or its namespace was deleted, SIGTERM withdraws the routes from all peers and removes everything from the kernel of this node',
  ).argParser(readDaemonSet);

/** The command then does nothing else, and --node is not needed. */
export const cleanupHeraldOption = (): Option =>
  new Option(
    '--cleanup',
    'remove everything that a stopped agent left in the kernel of this node, and exit: 0 all was removed, 1 something is left, 3 refused (an agent runs)',
  ).implies({ node: '' });

export const cleanupOption = (): Option =>
  new Option(
    '--cleanup-kube-proxy',
    'remove what kube-proxy left on this node, print it, and exit: 0 all was removed, 1 something is left, 3 refused (kube-proxy still runs, or Herald does not forward yet)',
  ).implies({ node: '' });

export interface AgentProcessOptions {
  readonly bfdPriority: 'real-time' | 'normal';
  readonly kernelSettings: 'set' | 'report';
  readonly procSys?: string;
  readonly healthzBindAddress: readonly SocketAddress[];
  readonly bgpListen?: readonly ListenAddress[];
  readonly onStop: 'restart' | 'shutdown';
  readonly daemonset?: DaemonSetName;
}

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

function readApiServer(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const known = url?.protocol === 'https:' || url?.protocol === 'http:';
  if (url === undefined || !known || url.username !== '' || url.search !== '') {
    throw new InvalidArgumentError('Write https://192.0.2.10:6443 or https://[2001:db8::10]:6443.');
  }
  return url;
}

function readHealthz(text: string): readonly SocketAddress[] {
  if (text === 'none') return [];
  const [, bracketed, plain, digits = '10256'] = /^(?:\[([^\]]*)\]|([^:[\]]+))(?::([0-9]{1,5}))?$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  const port = Number(digits);
  if (host === undefined || port < 1 || port > 65_535) {
    throw new InvalidArgumentError('Write none, 192.0.2.1, 192.0.2.1:10256 or [2001:db8::1]:10256.');
  }
  const address = parseAddress(host);
  if (!address.ok) throw new InvalidArgumentError(`${JSON.stringify(host)}: ${address.problem}.`);
  const written = formatAddress(address.value);
  const everywhere = ['0.0.0.0', '::'];
  return (everywhere.includes(written) ? everywhere : [written]).map((one) => ({ address: one, port }));
}

export interface LogOptions {
  readonly logLevel: string;
  /** Default: json. */
  readonly logFormat?: 'json' | 'text' | undefined;
}

export interface OutputOptions {
  readonly output: 'text' | 'json';
}
