import { InvalidArgumentError, Option, type Command } from 'commander';
import type { ListenAddress } from '../../bgp/index.ts';
import { formatAddress, parseAddress } from '../../net/address.ts';
import type { SocketAddress } from '../../system/http/http-listener.ts';

/**
 * Where the shipped manifests and the chart put Herald: its pods, and the Lease of its controllers where neither a pod nor an option says
 * otherwise.
 */
export const defaultNamespace = 'herald-system';

/** Options that several commands have, with one wording. */
export const sourceOption = (): Option => new Option('--source <dir>', 'directory of manifests; records are kept in its folder .herald');

export interface ClusterOptions {
  readonly kubeconfig?: string;
  readonly apiserver?: URL;
}

/** Where there is no --source. `otherwise`: whose cluster it is where none is named. */
export function addClusterOptions(command: Command, otherwise = 'the one that this pod is in'): Command {
  return command
    .addOption(new Option('--kubeconfig <file>', `the cluster of this file's current context (default: ${otherwise})`).conflicts('source'))
    .addOption(
      new Option(
        '--apiserver <url>',
        'address of the API server, in place of the one that comes with the credentials: needed where the agent itself makes the ClusterIP of the API server work',
      )
        .argParser(readApiServer)
        .conflicts('source'),
    );
}

/** Of a command that a person runs: his own credentials, found as kubectl finds them. */
export interface CallerOptions extends ClusterOptions {
  readonly context?: string;
}

/** Where there is no --source. */
export function addCallerOptions(command: Command): Command {
  return addClusterOptions(command, 'as kubectl finds it: $KUBECONFIG, ~/.kube/config, else the pod').addOption(
    new Option('--context <name>', 'a context of the kubeconfig, in place of the current one').conflicts('source'),
  );
}

export interface ElectionOptions {
  /** Absent: of an agent, which has no rivals. */
  readonly leaderElect?: 'true' | 'false';
  readonly leaderElectNamespace?: string;
}

/** Of a controller in a cluster. */
export function addElectionOptions(command: Command): Command {
  return command
    .addOption(
      new Option(
        '--leader-elect <bool>',
        'of several controllers of a cluster one works, which a Lease tells; false: there is never another one',
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
  new Option('--log-level <level>', 'least level that is logged').choices(['debug', 'info', 'warn', 'error']).default('info');

export const logFormatOption = (): Option =>
  new Option('--log-format <format>', 'json: a line of JSON for each change, for programs; text: for people')
    .choices(['json', 'text'])
    .default('json');

export const outputOption = (): Option => new Option('-o, --output <format>', 'text or json').choices(['text', 'json']).default('text');

/** Of an agent: beside another program that forwards, the defaults of HeraldConfig are what nobody may have chosen. */
export const waitForConfigOption = (): Option =>
  new Option(
    '--wait-for-config',
    'do nothing on the node while there is no HeraldConfig/default, and go on with the last one when it is deleted; without this the defaults count then, which are for nodes without kube-proxy',
  ).conflicts('source');

/** Undefined where it is not given: port 179 of every address, while a BGPPeer of the node is passive. */
export const bgpListenOption = (): Option =>
  new Option(
    '--bgp-listen <where>',
    '[ADDRESS:]PORT where BGP peers may connect, or none (default: port 179, while a BGPPeer of this node is passive)',
  ).argParser(readListen);

export const onStopOption = (): Option =>
  new Option(
    '--on-stop <mode>',
    'what BGP peers are told: restart lets those with graceful restart keep the routes, shutdown makes them the last resort for 5 s and withdraws them all',
  )
    .choices(['restart', 'shutdown'])
    .default('restart');

/** kube-proxy's option, with its default. */
export const healthzOption = (): Option =>
  new Option(
    '--healthz-bind-address <where>',
    'ADDRESS[:PORT] where /healthz and /livez tell the health of the node, or none; 0.0.0.0 and [::] are all addresses of both families',
  )
    .argParser(readHealthz)
    .default(readHealthz('0.0.0.0'), '0.0.0.0:10256');

export const kernelSettingsOption = (): Option =>
  new Option('--kernel-settings <mode>', 'settings of the kernel that are wrong for forwarding: set them, or report them only')
    .choices(['set', 'report'])
    .default('set');

export const procSysOption = (): Option =>
  new Option(
    '--proc-sys <dir>',
    "where the kernel's settings are: containers have /proc/sys read-only, and net of the host's may be mounted below another directory",
  ).default('/proc/sys');

export const bfdPriorityOption = (): Option =>
  new Option(
    '--bfd-priority <mode>',
    'of the thread in which BFD runs: real-time (SCHED_FIFO) where CAP_SYS_NICE allows it, which intervals below 100 ms need, or normal',
  )
    .choices(['real-time', 'normal'])
    .default('real-time');

/** A command of its own, which does not need --node. */
export const cleanupHeraldOption = (): Option =>
  new Option(
    '--cleanup',
    'remove all that an agent which was stopped has left in the kernel of this node, and end: 0 it is gone, 1 not all of it, 3 refused (an agent runs)',
  ).implies({ node: '' });

export const cleanupOption = (): Option =>
  new Option(
    '--cleanup-kube-proxy',
    'remove what kube-proxy has left on this node, say what, and end: 0 all is gone, 1 something is left, 3 refused (it still runs, or Herald does not forward yet)',
  ).implies({ node: '' });

export interface AgentProcessOptions {
  readonly bfdPriority: 'real-time' | 'normal';
  readonly kernelSettings: 'set' | 'report';
  readonly procSys?: string;
  readonly healthzBindAddress: readonly SocketAddress[];
  readonly bgpListen?: readonly ListenAddress[];
  readonly onStop: 'restart' | 'shutdown';
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
