import { open } from 'node:fs/promises';
import { Command, InvalidArgumentError, Option } from 'commander';
import { Capture } from '../../../bgp/index.ts';
import { cannotWrite, hint, type CommandContext } from '../../context/command-context.ts';
import { limits } from '../../limits.ts';
import { agentSocket, readSocket } from '../../options/live-options.ts';
import { outputOption, readWait, type OutputOptions } from '../../options/shared-options.ts';
import { openTrace, type OpenTrace } from './open-trace.ts';
import { traceFacts, traceText } from './trace-output.ts';
import { version } from '../../../model/objects/version.ts';

interface Options extends OutputOptions {
  readonly peer: string;
  readonly node?: string;
  readonly socket: string;
  readonly pcap?: string;
  readonly count?: number;
  /** Seconds. */
  readonly duration?: number;
}

export function bgpCommand(context: CommandContext): Command {
  const bgp = new Command('bgp')
    .description('look into the BGP sessions of the agent of this host')
    .addHelpText('after', '\nExample:\n  herald bgp trace --peer tor1');
  bgp.addCommand(traceCommand(context).exitOverride().showHelpAfterError(hint));
  return bgp;
}

function traceCommand(context: CommandContext): Command {
  return new Command('trace')
    .description(
      "show the messages of a BGP session of this host's agent as they pass, one a line, or write a file for Wireshark, until Ctrl-C. The session is never delayed: a reader that is too slow misses messages, and their number is shown",
    )
    .requiredOption('--peer <name>', 'the BGPPeer')
    .option('--node <name>', 'expected node: an error if the agent of this host is of another node')
    .option('--pcap <file>', 'also write a capture file (pcapng), which Wireshark, tshark and tcpdump read; - for standard output')
    .addOption(new Option('--count <n>', 'end after this number of messages').argParser(readCount))
    .addOption(
      new Option('--duration <duration>', 'end after this time: 30s, 10m').argParser((text) => readWait(text, limits.traceMaximumSeconds)),
    )
    .addOption(new Option('--socket <path>', 'Unix socket of the agent').argParser(readSocket).default(agentSocket))
    .addOption(outputOption())
    .addHelpText(
      'after',
      '\nExample:\n  herald bgp trace --peer tor1                              until Ctrl-C\n  herald bgp trace --peer tor1 --pcap tor1.pcapng --duration 10m\n  herald bgp trace --peer tor1 --pcap - | wireshark -k -i -\n  kubectl -n herald-system exec herald-agent-x7k2p -- herald bgp trace --peer tor1 --pcap - > tor1.pcapng\n  herald bgp trace --peer tor1 -o json --count 100',
    )
    .action((options: Options) => trace(context, options));
}

async function trace(context: CommandContext, options: Options): Promise<void> {
  const { clock, stopped, printError } = context;
  const ended = new AbortController();
  const cancel = options.duration === undefined ? undefined : clock.after(options.duration * 1000, () => ended.abort());
  const signal = AbortSignal.any([stopped, ended.signal]);
  let messages = 0;
  let lost = 0;
  try {
    const opened = await openTrace(options, signal);
    const file = await openCapture(context, options);
    printError(`herald: tracing ${options.peer} of node ${opened.node}${options.count === undefined ? ', until Ctrl-C' : ''}`);
    try {
      for await (const event of opened.events) {
        if (event.type === 'message') messages++;
        if (event.type === 'lost') lost += event.count;
        await file?.take(event);
        if (options.pcap !== '-') context.print(options.output === 'json' ? JSON.stringify(traceFacts(event)) : traceText(event));
        if (messages === options.count) break;
      }
    } finally {
      await file?.close();
    }
    if (!signal.aborted && messages !== options.count)
      printError('herald: the trace has ended: the BGPPeer was removed, or the agent was stopped');
  } catch (error) {
    // Stopping is the normal end of a trace.
    if (!signal.aborted) throw error;
  } finally {
    cancel?.();
  }
  printError(`herald: ${messages} messages${lost === 0 ? '' : `, and ${lost} more that came faster than they were read`}`);
}

type TraceStep = OpenTrace['events'] extends AsyncIterable<infer E> ? E : never;

interface CaptureFile {
  take(event: TraceStep): Promise<void>;
  close(): Promise<void>;
}

/** Opens the capture file and writes its head at once, so that a waiting reader sees that the capture has begun. */
async function openCapture({ write }: CommandContext, { pcap, peer }: Options): Promise<CaptureFile | undefined> {
  if (pcap === undefined) return undefined;
  const capture = new Capture({ application: `herald ${version}`, name: peer });
  const file = pcap === '-' ? undefined : await open(pcap, 'w', 0o600).catch(cannotWrite(pcap));
  const append = async (octets: Uint8Array): Promise<void> => {
    if (octets.length === 0) return;
    await (file === undefined ? write(octets) : file.appendFile(octets));
  };
  await append(capture.head());
  return { take: (event) => append(capture.add(event)), close: async () => file?.close() };
}

function readCount(text: string): number {
  const count = /^[0-9]{1,9}$/.test(text) ? Number(text) : 0;
  if (count < 1) throw new InvalidArgumentError('Write a number of messages, 1 or more.');
  return count;
}
