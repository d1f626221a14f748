import { copyFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { run } from '../../lab/command.ts';
import { stagesOf, type Instruction, type Stage } from './containerfile.ts';

/** What scripts/debian-root.sh has made: Debian and nothing else; and for the stages that build, with npm, whose installation takes minutes. */
const bases = { last: '/var/cache/herald/container', others: '/var/cache/herald/container-npm' };

/** What the Containerfile makes of a Debian, in a directory in place of a container. */
export class Image {
  readonly root: string;
  readonly user: string;
  readonly entrypoint: readonly string[];

  private constructor(root: string, user: string, entrypoint: readonly string[]) {
    this.root = root;
    this.user = user;
    this.entrypoint = entrypoint;
  }

  /** `context`: a directory with what `COPY` may take. `environment`: of the commands, such as where npm gets its packages. */
  static async build(context: string, environment: Readonly<Record<string, string>>): Promise<Image> {
    for (const path of Object.values(bases))
      if (!existsSync(join(path, '.herald-packages')))
        throw new Error(`there is no Debian to build on, ${path}: scripts/debian-root.sh makes it`);
    const stages = stagesOf(readFileSync(join(context, 'Containerfile'), 'utf8'));
    const roots: string[] = [];
    try {
      for (const stage of stages) {
        const root = mkdtempSync('/var/tmp/herald-image-');
        roots.push(root);
        const base = stage === stages.at(-1) ? bases.last : bases.others;
        await run(['cp', '-a', `${base}/.`, root], { timeoutMs: 300_000 });
        const built = (name: string): string | undefined => roots[stages.findIndex((each) => each.name === name)];
        await carryOut(stage, root, { context, environment, built });
      }
      const last = (name: string): string => stages.at(-1)?.instructions.findLast((each) => each.name === name)?.value ?? '';
      const root = roots.pop() ?? '';
      return new Image(root, last('USER'), JSON.parse(last('ENTRYPOINT')) as string[]);
    } finally {
      for (const root of roots) rmSync(root, { recursive: true, force: true });
    }
  }

  remove(): void {
    rmSync(this.root, { recursive: true, force: true });
  }
}

interface Circumstances {
  readonly context: string;
  readonly environment: Readonly<Record<string, string>>;
  /** The root of an earlier stage. */
  readonly built: (name: string) => string | undefined;
}

async function carryOut(stage: Stage, root: string, circumstances: Circumstances): Promise<void> {
  let directory = '/';
  for (const { name, value } of stage.instructions) {
    if (name === 'WORKDIR') {
      directory = value;
      mkdirSync(join(root, directory), { recursive: true });
    } else if (name === 'COPY') copy(value, root, directory, circumstances);
    else if (name === 'RUN') await runIn(root, directory, value, circumstances.environment);
  }
}

function copy(value: Instruction['value'], root: string, directory: string, { context, built }: Circumstances): void {
  const words = value.split(/\s+/);
  const stage = /^--from=(\w+)$/.exec(words[0] ?? '')?.[1];
  const from = stage === undefined ? context : built(stage);
  if (from === undefined) throw new Error(`Containerfile: COPY ${value}: there is no such stage before`);
  const paths = words.slice(stage === undefined ? 0 : 1, -1);
  const to = words.at(-1) ?? '';
  for (const path of paths) {
    // As the format has it: into a directory whose name ends in a slash, else to that name.
    const name = to.endsWith('/') ? join(to, path.split('/').at(-1) ?? '') : to;
    const target = join(root, name.startsWith('/') ? name : join(directory, name));
    mkdirSync(dirname(target), { recursive: true });
    cpSync(join(from, path), target, { recursive: true, verbatimSymlinks: true });
  }
}

const authorities = '/etc/ssl/certs/ca-certificates.crt';

/** As a builder does: by /bin/sh, as root, with the network of the machine, and trusting whom the machine trusts. */
async function runIn(root: string, directory: string, command: string, environment: Readonly<Record<string, string>>): Promise<void> {
  const trusted = '/run/authorities.crt';
  if (existsSync(authorities)) copyFileSync(authorities, join(root, trusted));
  const variables = Object.entries({
    npm_config_cafile: trusted,
    PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    HOME: '/root',
    ...environment,
  });
  const script = 'mount -t proc proc "$0/proc" && exec chroot "$0" env -i "$@"';
  const shell = ['/bin/sh', '-ec', `cd ${directory}; ${command}`];
  try {
    await run(['unshare', '--mount', 'sh', '-c', script, root, ...variables.map(([name, value]) => `${name}=${value}`), ...shell], {
      timeoutMs: 900_000,
    });
  } finally {
    rmSync(join(root, trusted), { force: true });
  }
}
