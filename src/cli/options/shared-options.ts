import { InvalidArgumentError, Option, type Command } from 'commander';
import { parseDuration } from '../../model/reading/duration.ts';

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
  readonly as?: string;
  readonly asGroup?: readonly string[];
  readonly token?: string;
  /** In seconds. */
  readonly requestTimeout?: number;
}

/** Adds the options that choose the caller's cluster. They conflict with --source. */
export function addCallerOptions(command: Command): Command {
  const options = [
    new Option('--context <name>', 'a context of the kubeconfig, in place of the current one'),
    new Option('--as <user>', 'act as this user, who the caller must be allowed to impersonate'),
    new Option('--as-group <group>', 'act as a member of this group; may be given several times').argParser(oneMore),
    new Option('--token <token>', 'a bearer token, in place of the credentials of the kubeconfig'),
    new Option('--request-timeout <duration>', 'the longest time for one request to the API server, such as 5s (default: 60s)').argParser(
      readTimeout,
    ),
  ];
  const all = addClusterOptions(command, 'as kubectl finds it: $KUBECONFIG, ~/.kube/config, else the pod');
  for (const option of options) all.addOption(option.conflicts('source'));
  return all;
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

/** Options of the log of a process. */
export function addLogOptions(command: Command): Command {
  return command
    .addOption(new Option('--log-level <level>', 'lowest level that is logged').choices(['debug', 'info', 'warn', 'error']).default('info'))
    .addOption(
      new Option('--log-format <format>', 'json: one JSON object a line, for programs; text: for people')
        .choices(['json', 'text'])
        .default('json'),
    );
}

export interface DetailOptions {
  readonly output: 'text' | 'wide' | 'json';
}

export const detailOption = (): Option =>
  new Option('-o, --output <format>', 'text: one screen; wide: every node with its sessions and routes, and every pool; json')
    .choices(['text', 'wide', 'json'])
    .default('text');

export const outputOption = (): Option => new Option('-o, --output <format>', 'text or json').choices(['text', 'json']).default('text');

/** Reads a time to wait of at most a day, `mostSeconds`. Returns seconds. */
export function readWait(text: string, mostSeconds: 86_400): number {
  const seconds = parseDuration(text);
  if (!seconds.ok) throw new InvalidArgumentError(`${seconds.problem}.`);
  if (seconds.value < 1 || seconds.value > mostSeconds) throw new InvalidArgumentError('Write a time from 1s to 24h.');
  return seconds.value;
}

function readTimeout(text: string): number {
  const seconds = parseDuration(text);
  if (!seconds.ok) throw new InvalidArgumentError(`${seconds.problem}.`);
  if (seconds.value <= 0 || seconds.value > timeoutSeconds) throw new InvalidArgumentError('Write a time above 0 and up to 10m.');
  return seconds.value;
}

const timeoutSeconds = 600;

/** For an option that may be given several times. */
export function oneMore(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

function readApiServer(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const known = url?.protocol === 'https:' || url?.protocol === 'http:';
  if (url === undefined || !known || url.username !== '' || url.search !== '') {
    throw new InvalidArgumentError('Write https://192.0.2.10:6443 or https://[2001:db8::10]:6443.');
  }
  return url;
}

export interface LogOptions {
  readonly logLevel: string;
  /** Default: json. */
  readonly logFormat?: 'json' | 'text' | undefined;
}

export interface OutputOptions {
  readonly output: 'text' | 'json';
}
