import { addBuiltInProviders } from '../../../../support/built-in-providers.ts';
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Command } from 'commander';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { commandsFor } from '../../../../../src/cli/command-list.ts';
import { answerCompletion } from '../../../../../src/cli/commands/completion/answer-completion.ts';
import { completionCommand } from '../../../../../src/cli/commands/completion/completion-command.ts';
import { positionOf } from '../../../../../src/cli/commands/completion/position.ts';
import { completionRequest } from '../../../../../src/cli/commands/completion/scripts.ts';
import { argumentValues, optionValues } from '../../../../../src/cli/commands/completion/value-kinds.ts';
import type { CommandContext } from '../../../../../src/cli/context/command-context.ts';
import { makeProgram } from '../../../../../src/cli/context/program.ts';
import { limits } from '../../../../../src/cli/limits.ts';
import { VirtualClock } from '../../../../../src/system/virtual-clock.ts';
import { collecting, inProcess } from '../../in-process.ts';
import { root } from '../../program.ts';

addBuiltInProviders();

const fabric = join(root, 'examples/fabric');
const load = async (words: readonly string[]): Promise<Command> =>
  makeProgram({} as CommandContext, await commandsFor(words), { version: '1', example: '' });

/** Returns the lines of the answer. The limit of time of a completion never passes, unless the test advances the clock. */
async function answer(words: readonly string[], clock = new VirtualClock()): Promise<readonly string[]> {
  const { context, stdout } = collecting({ clock });
  await answerCompletion(context, words, load);
  return stdout;
}

/** Returns the candidates without their descriptions, and the directive. */
const complete = async (...args: Parameters<typeof answer>): Promise<readonly string[]> =>
  (await answer(...args)).map((line) => line.replace(/\t.*/, ''));

describe('completion', () => {
  test.each([
    ['the commands', ['st'], ['status', ':4']],
    ['the sub-commands', ['explain', 'p'], ['pool', 'peer', ':4']],
    ['the options of a sub-command', ['explain', 'service', '--pe'], ['--peer', ':4']],
    ['the values of an option', ['status', '--output', ''], ['text', 'wide', 'json', 'yaml', 'name', ':4']],
    ['the values of a short option', ['status', '-o', 'j'], ['json', ':4']],
    ['the values after an equals sign', ['status', '--output=w'], ['--output=wide', ':4']],
    ['the names of Services', ['explain', 'service', '--source', fabric, ''], ['shop/ledger', 'shop/web', ':4']],
    ['the names of Services of files', ['explain', 'service', '-f', fabric, 'shop/w'], ['shop/web', ':4']],
    ['the names of pools', ['pools', '--source', fabric, '--pool', 'p'], ['public', ':4']],
    ['the names of peers', ['history', 'peer', `--source=${fabric}`, 'tor1'], ['tor1-v4', 'tor1-v6', ':4']],
    ['the names of nodes', ['drain', '--source', fabric, ''], ['node1', 'node2', 'node3', ':4']],
    ['the shells', ['completion', ''], ['bash', 'zsh', 'fish', 'kubectl', ':4']],
    ['nothing after the last argument', ['drain', '--source', fabric, 'node1', ''], [':4']],
    ['files', ['plan', '-f', ''], [':0']],
    ['directories', ['status', '--source', ''], [':16']],
    ['nothing for an unknown command', ['explian', ''], expect.arrayContaining([':4'])],
    ['nothing for a missing directory', ['explain', 'pool', '--source', '/no/such/place', ''], [':4']],
    ['nothing without a cluster', ['explain', 'pool', ''], [':4']],
  ])('offers %s', async (_, words, expected) => {
    expect(await complete(words)).toEqual(expected);
  });

  test('an option that was given is not offered again, but --file is', async () => {
    const offered = await complete(['pools', '-o', 'json', '-f', 'x', '--']);
    expect(offered).not.toContain('--output');
    expect(offered).toContain('--file');
  });

  test('a cluster that does not answer ends the completion without a word', async () => {
    const clock = new VirtualClock();
    const silent = createServer(() => clock.advance(limits.completionMilliseconds)).listen(0, '127.0.0.1');
    await new Promise((resolve) => silent.once('listening', resolve));
    const directory = mkdtempSync(join(tmpdir(), 'herald-complete-'));
    const kubeconfig = join(directory, 'config');
    const server = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    writeFileSync(
      kubeconfig,
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'Config',
        'current-context': 'c',
        clusters: [{ name: 'c', cluster: { server } }],
        users: [{ name: 'c', user: {} }],
        contexts: [{ name: 'c', context: { cluster: 'c', user: 'c' } }],
      }),
    );
    try {
      expect(await complete(['explain', 'pool', '--kubeconfig', kubeconfig, ''], clock)).toEqual([':4']);
    } finally {
      silent.close();
      rmSync(directory, { recursive: true });
    }
  });
});

/** Values that only the user knows. */
const free = new Set(
  'context apiserver fail-on timeout since count duration initial-config bgp-listen healthz-bind-address metrics-address health-address watch cluster port daemonset router as as-group token request-timeout selector'.split(
    ' ',
  ),
);

test('every option with a value and every argument is completed, or listed as known to the user only', async () => {
  const program = await load([]);
  const untold: string[] = [];
  const visit = (command: Command, path: readonly string[]): void => {
    for (const option of command.options) {
      const name = (option.long ?? '').replace('--', '');
      const known = option.argChoices !== undefined || optionValues[name] !== undefined || free.has(name) || name.startsWith('aws-');
      if ((option.required || option.optional) && !known && !(name === 'output' && path[0] === 'bundle'))
        untold.push(`${path.join(' ')} --${name}`);
    }
    const kinds = argumentValues[path.join(' ')] ?? [];
    command.registeredArguments.forEach((argument, at) => {
      if (argument.argChoices === undefined && kinds[at] === undefined) untold.push(`${path.join(' ')} ${argument.name()}`);
    });
    for (const inner of command.commands) visit(inner, [...path, inner.name()]);
  };
  visit(program, []);
  expect(untold).toEqual([]);
});

test('a position knows the values of the options before it', async () => {
  const program = await load(['peers']);
  const { given, place } = positionOf(program, ['peers', '--source=/a', '--context', 'b', '-o', 'json', '--peer', 't']);
  expect(Object.fromEntries(given)).toEqual({ source: '/a', context: 'b', output: 'json' });
  expect(place).toMatchObject({ type: 'value', option: expect.objectContaining({ long: '--peer' }) });
});

/**
 * zsh and fish are packages of Debian: `sh scripts/setup.sh zsh=zsh fish=fish`. The shells run a `herald` that prints the answer of this process to
 * the words that the test expects, and fails for other words.
 */
describe('a shell with the completion script', () => {
  const directory = mkdtempSync(join(tmpdir(), 'herald-shell-'));
  const environment = { ...process.env, PATH: `${directory}:${process.env['PATH'] ?? ''}`, HOME: directory };
  beforeAll(async () => {
    const program = `#!/bin/sh\nIFS='|'\ncat "${directory}/answers/$(printf %s "$*" | tr / :)"\n`;
    writeFileSync(join(directory, 'herald'), program, { mode: 0o755 });
    mkdirSync(join(directory, 'answers'));
    for (const shell of ['bash', 'zsh', 'fish', 'kubectl'])
      writeFileSync(join(directory, `herald.${shell}`), (await inProcess(completionCommand, [shell])).stdout);
  });
  afterAll(() => rmSync(directory, { recursive: true }));

  /** Runs a shell in which `herald` has the answer to these words only. */
  async function run(shell: string, words: readonly string[], ...args: readonly string[]): Promise<string> {
    const lines = (await answer(words)).map((line) => `${line}\n`).join('');
    writeFileSync(join(directory, 'answers', [completionRequest, ...words].join('|').replaceAll('/', ':')), lines);
    return execFileSync(shell, args, { env: environment, cwd: root, encoding: 'utf8' });
  }

  /** Prints what bash offers for a command line, as `complete -F` would have it. */
  const script = `source ${directory}/herald.bash; COMP_LINE=$1; COMP_POINT=\${#1}; _herald herald; printf '%s\\n' "\${COMPREPLY[@]}"`;

  test.each([
    ['herald stat', ['stat'], ['status']],
    [
      'herald explain service --source examples/fabric shop/',
      ['explain', 'service', '--source', 'examples/fabric', 'shop/'],
      ['shop/ledger', 'shop/web'],
    ],
    ['herald explain node --source=examples/fabric ', ['explain', 'node', '--source=examples/fabric', ''], ['node1', 'node2', 'node3']],
    ['herald status --output=j', ['status', '--output=j'], ['json']],
    [
      'herald peers --source examples/fabric --peer tor2',
      ['peers', '--source', 'examples/fabric', '--peer', 'tor2'],
      ['tor2-v4', 'tor2-v6'],
    ],
    ['herald run examples/fab', ['run', 'examples/fab'], ['examples/fabric']],
    ['herald plan --file=examples/fabric/3', ['plan', '--file=examples/fabric/3'], ['examples/fabric/30-web.yaml']],
  ])('bash completes %j', async (line, words, expected) => {
    const out = await run('bash', words, '-c', script, 'bash', line);
    expect(out.split('\n').filter((word) => word !== '')).toEqual(expected);
  });

  test('bash asks the program itself', () => {
    const programs = join(directory, 'programs');
    mkdirSync(programs);
    symlinkSync(join(root, 'bin/herald'), join(programs, 'herald'));
    const env = { ...environment, PATH: `${programs}:${environment.PATH}` };
    expect(execFileSync('bash', ['-c', script, 'bash', 'herald stat'], { env, cwd: root, encoding: 'utf8' })).toBe('status\n');
  });

  test('bash registers the function for herald', () => {
    const out = execFileSync('bash', ['-c', `source ${directory}/herald.bash; complete -p herald`], { env: environment, encoding: 'utf8' });
    expect(out.trim()).toBe('complete -F _herald herald');
  });

  test('fish completes names with their descriptions', async () => {
    const of = (line: string, ...words: readonly string[]): Promise<string> =>
      run('fish', words, '-c', `source ${directory}/herald.fish; complete -C ${JSON.stringify(line)}`);
    const node = ['explain', 'node', '--source', 'examples/fabric', ''];
    expect(await of('herald explain node --source examples/fabric ', ...node)).toBe('node1\nnode2\nnode3\n');
    expect(await of('herald pool', 'pool')).toMatch(/^pools\tshow the IPAddressPools\n$/);
    expect(await of('herald run examples/fab', 'run', 'examples/fab')).toContain('examples/fabric/');
  });

  test('zsh loads the script, and its function offers names and descriptions', async () => {
    // _describe needs the line editor, so this one prints its candidates.
    const prelude = `compdef() { print "compdef $*" }; _describe() { print -l -- "\${(@P)3}" }; source ${directory}/herald.zsh`;
    const of = (...words: readonly string[]): Promise<string> =>
      run('zsh', words, '-f', '-c', `${prelude}; words=(herald ${words.join(' ')}); CURRENT=${words.length + 1}; _herald`);
    expect(await of('explain', 'node', '--source', 'examples/fabric', 'node')).toBe('compdef _herald herald\nnode1\nnode2\nnode3\n');
    expect(await of('pool')).toBe('compdef _herald herald\npools:show the IPAddressPools\n');
  });

  test('the program for kubectl passes the words on', () => {
    const [asked, program] = [join(directory, 'kubectl'), join(directory, 'herald.kubectl')];
    writeFileSync(asked, '#!/bin/sh\nprintf "<%s>" "$@"\n');
    for (const one of [asked, program]) chmodSync(one, 0o755);
    const out = execFileSync(program, ['explain', 'pool', ''], { env: environment, encoding: 'utf8' });
    expect(out).toBe('<herald><__complete><explain><pool><>');
  });
});
