import { parseArgs } from 'node:util';
import { endTogether } from '../ends-together.ts';
import { examples, HeraldInLab } from '../herald.ts';
import { Lab } from '../lab.ts';
import { standardTopology } from '../standard-topology.ts';
import { chapters, type Scene } from './chapters.ts';
import { openConsole, type DemoConsole } from './console.ts';
import { completeLab, explainLab } from './kept-lab.ts';
import { withOffice } from './office.ts';
import { makeReporter } from './reporter.ts';

const help = `npm run demo: a small data centre in network namespaces, with real FRR routers, and Herald in it

   client -- spine (FRR) --+-- tor1 (FRR) --+-- node1: herald agent, pods
                           +-- tor2 (FRR) --+-- node2: herald agent, pods
                                            +-- node3: herald agent, pods
   client -- switch -- node1, node2, node3: a second network, without routers

  --keep   keep the lab running at the end, and print commands to look around
  --ui     show the lab in the console (herald ui) from the first chapter on, and keep both until Ctrl-C
  --json   print one JSON object a line
  --help   print this text

Example: npm run demo -- --keep
Exit status: 0 when every check passed, else 1. Needs root. Changes nothing outside its network namespaces.`;

const { values } = parseArgs({
  options: { keep: { type: 'boolean' }, ui: { type: 'boolean' }, json: { type: 'boolean' }, help: { type: 'boolean' } },
});

if (values.keep === true && values.ui === true) {
  console.error('--ui keeps the lab until Ctrl-C: leave out --keep, or leave out --ui and run herald ui over the kept lab');
  process.exit(1);
}
const status = values.help === true ? showHelp() : await demo({ keep: values.keep, ui: values.ui, json: values.json });
// The processes of a kept lab would keep this process running.
process.exit(status);

function showHelp(): number {
  console.log(help);
  return 0;
}

interface Options {
  readonly keep: boolean | undefined;
  readonly ui: boolean | undefined;
  readonly json: boolean | undefined;
}

async function demo({ keep = false, ui = false, json = false }: Options): Promise<number> {
  const reporter = makeReporter({ json, colour: process.stdout.isTTY, print: console.log });
  reporter.chapter('A spine, two top-of-rack switches, three nodes, five pods, one client');
  const fabric = standardTopology({
    pods: [
      { name: 'web-1', node: 'node1' },
      { name: 'web-2', node: 'node2' },
      { name: 'web-3', node: 'node3' },
      { name: 'ledger-1', node: 'node1' },
      { name: 'ledger-2', node: 'node2' },
    ],
  });
  const letLive = endTogether();
  const lab = await Lab.start(withOffice(fabric));
  let scene: Scene | undefined;
  let shown: DemoConsole | undefined;
  try {
    const herald = await HeraldInLab.prepare(lab, examples, ['10-cluster.yaml', '20-herald.yaml']);
    scene = { lab, herald, reporter };
    if (ui) shown = await openConsole(scene);
    for (const { title, play } of chapters) {
      reporter.chapter(title);
      await play(scene);
    }
    if (keep || ui) await completeLab(scene);
    if (shown !== undefined) {
      reporter.say('the console still shows the lab. Ctrl-C ends both');
      await shown.ended;
    }
  } catch (error) {
    reporter.check('the demo runs to its end', false, error instanceof Error ? error.message : String(error));
  } finally {
    if (keep && scene !== undefined) {
      letLive();
      await explainLab(scene);
    } else await lab.stop();
  }
  if (!keep) {
    reporter.chapter('The lab is taken down');
    const { stdout } = await execute(['ip', 'netns', 'list']);
    const left = stdout.split('\n').filter((line) => line.startsWith(lab.id));
    reporter.check('no namespace of the demo is left', left.length === 0, left.join(' '));
  }
  const { passed, failed } = reporter.result();
  console.log(json ? JSON.stringify({ kind: 'result', passed, failed }) : `\ndemo: ${passed} checks passed, ${failed} failed`);
  return failed === 0 ? 0 : 1;
}

async function execute(argv: readonly [string, ...string[]]): Promise<{ stdout: string }> {
  const { execFile } = await import('node:child_process');
  const { promisify } = await import('node:util');
  return promisify(execFile)(argv[0], argv.slice(1));
}
