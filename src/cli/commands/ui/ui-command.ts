import { Command, InvalidArgumentError, Option } from 'commander';
import { startConsole } from '../../../console/server.ts';
import { ListenError } from '../../../system/http/http-listener.ts';
import { UsageError, type CommandContext } from '../../context/command-context.ts';
import { exampleLines } from '../../context/definitions.ts';
import { addProviderOptions, providerOption } from '../../options/provider-option.ts';
import { addReadingOptions, type ReadingOptions } from '../../reading/open-reading.ts';
import type { OutsideOptions } from '../plan-outcome.ts';
import { openConsoleFacts } from './console-facts.ts';
import { openBrowser } from './open-browser.ts';
import { readPageFiles } from './page-files.ts';

type Options = ReadingOptions &
  OutsideOptions & {
    readonly port: number;
    /** False: --no-open. */
    readonly open: boolean;
  };

export function uiCommand(context: CommandContext): Command {
  const command = new Command('ui')
    .description(
      'serve the console on 127.0.0.1 and open it in the browser: Services, the path to each, routers, nodes and addresses, and what manifests would change; it checks a Service when you ask for it, and changes nothing',
    )
    .addOption(new Option('--port <number>', 'port on 127.0.0.1; 0: a free one').argParser(readPort).default(0))
    .addOption(new Option('--no-open', 'print the address, and open no browser'))
    .addHelpText(
      'after',
      `\nExample:\n  herald ui                              the cluster of $KUBECONFIG, with your own rights\n  herald ui --source /etc/herald         a directory, with the records of herald run\n  herald ui -f manifests/                manifests alone\n${exampleLines('ui')}  ssh -L 9443:127.0.0.1:9443 host herald ui --port 9443 --no-open\n                                         of another host: open the printed address here`,
    )
    .action((options: Options) => serve(context, options));
  return addProviderOptions(addReadingOptions(command).addOption(providerOption()));
}

async function serve(context: CommandContext, options: Options): Promise<void> {
  const files = await readPageFiles();
  const facts = await openConsoleFacts(context, options, options);
  try {
    const { clock, stopped, print } = context;
    const { address, ended } = await startConsole(options.port, { facts, files, clock, stopped }).catch((error: unknown) => {
      if (!(error instanceof ListenError)) throw error;
      throw new UsageError(`port ${options.port} of 127.0.0.1 cannot be used: ${error.message}: choose another with --port`);
    });
    print(`The console is at ${address}`);
    print('The address lets its reader see what you may see: do not share it. Ctrl-C ends the console.');
    const close = options.open ? await openBrowser(context, address) : undefined;
    await ended;
    await close?.();
  } finally {
    await facts.close();
  }
}

function readPort(text: string): number {
  const port = /^[0-9]{1,5}$/.test(text) ? Number(text) : -1;
  if (port < 0 || port > 65_535) throw new InvalidArgumentError('Write a port, 0 to 65535.');
  return port;
}
